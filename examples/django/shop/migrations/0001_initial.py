from django.db import migrations, models

GUARD = "SELECT fence_attach('shop_order', 'order:{id}', 'fence_token', 'require=claim')"


class Migration(migrations.Migration):
    operations = [
        migrations.CreateModel(
            name="Order",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("status", models.TextField()),
                ("fence_token", models.BigIntegerField(null=True, editable=False)),
            ],
        ),
        migrations.RunSQL(GUARD, "SELECT fence_detach('shop_order')"),
        migrations.RunSQL(
            "GRANT SELECT, INSERT, UPDATE, DELETE ON shop_order TO shop", migrations.RunSQL.noop
        ),
    ]
