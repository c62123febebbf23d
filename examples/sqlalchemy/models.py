from sqlalchemy import BigInteger, Column, FetchedValue, Text
from sqlalchemy.orm import declarative_base

Base = declarative_base()


class Order(Base):
    __tablename__ = "orders"
    id = Column(BigInteger, primary_key=True)
    status = Column(Text, nullable=False)
    # Written by the guard: SQLAlchemy fetches it again after each flush, and never writes it.
    fence_token = Column(
        BigInteger, server_default=FetchedValue(), server_onupdate=FetchedValue()
    )
