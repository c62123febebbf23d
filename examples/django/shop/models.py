from django.db import models


class Order(models.Model):
    status = models.TextField()
    # Written by the guard alone (require=claim): save() names every column, this one too, and the
    # old value that it writes there must not count as a token.
    fence_token = models.BigIntegerField(null=True, editable=False)
