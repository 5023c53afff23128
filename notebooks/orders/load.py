"""The three files as data frames, as decided so far (see .shiro/memory/MEMORY.md)."""

import pandas as pd

orders = pd.read_csv("orders.csv")
orders = orders[~orders["order_date"].str.endswith("2023")]
customers = pd.read_csv("customers.csv")
prices = pd.read_csv("prices.csv", sep=";", decimal=",")

quantity_by_channel = (
    orders.groupby("channel", as_index=False).agg(mean_quantity=("quantity", "mean")).round(2)
)
