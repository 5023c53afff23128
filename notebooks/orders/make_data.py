"""Make the example data: the order book of a small tea shop that does not exist.

    python make_data.py [FOLDER]

Seeded, so that every run writes the same bytes. The traps are made on purpose; README.md lists
them.
"""

from __future__ import annotations

import csv
import random
import sys
from datetime import date, timedelta
from pathlib import Path

SEED = 20251130
# product, category, list price in EUR
PRODUCTS = [
    ("Assam", "black tea", 8.90),
    ("Darjeeling", "black tea", 12.50),
    ("Earl Grey", "black tea", 9.40),
    ("Sencha", "green tea", 11.20),
    ("Gunpowder", "green tea", 7.80),
    ("Rooibos", "herbal", 6.90),
    ("Peppermint", "herbal", 5.60),
    ("Teapot", "ware", 34.00),
    ("Strainer", "ware", 4.20),
]
CURRENCY = {"DE": "EUR", "AT": "EUR", "FR": "EUR", "GB": "GBP", "CH": "CHF"}
RATES = {"EUR": 1.0, "GBP": 1.17, "CHF": 1.05}
FIRST_NAMES = [
    *("Ada", "Ben", "Carla", "Dev", "Elif", "Femi", "Greta", "Hugo"),
    *("Ines", "Jon", "Kaya", "Lena", "Milo", "Nora", "Omar", "Pia"),
]
LAST_NAMES = [
    *("Adler", "Brandt", "Costa", "Dunn", "Ebert", "Fuchs"),
    *("Girard", "Hale", "Iten", "Jansen", "Keller", "Lang"),
]
ORDER_COLUMNS = [
    "order_id",
    "order_date",
    "customer_id",
    "product",
    "quantity",
    "unit_price",
    "currency",
    "channel",
]


def make_customers(chance: random.Random) -> list[list[str]]:
    rows = []
    for number in range(1, 61):
        name = f"{chance.choice(FIRST_NAMES)} {chance.choice(LAST_NAMES)}"
        country = chance.choice(["DE", "DE", "DE", "AT", "FR", "GB", "GB", "CH"])
        joined = date(2022, 1, 1) + timedelta(days=chance.randrange(1000))
        email = f"{name.lower().replace(' ', '.')}{number}@example.org"
        rows.append(
            [
                f"C{number:03}",
                name,
                country + (" " if chance.random() < 0.1 else ""),
                email if chance.random() > 0.15 else "",
                joined.isoformat(),
            ]
        )
    # Three people were entered twice, the second time under a new country.
    for number in (7, 23, 41):
        again = list(rows[number])
        again[2] = "CH"
        rows.append(again)
    return rows


def make_orders(chance: random.Random, customers: list[list[str]]) -> list[list[str]]:
    rows = []
    first, days = date(2023, 1, 2), 910  # to the end of June 2025
    for number in range(1, 521):
        day = first + timedelta(days=number * days // 520)
        customer = chance.choice(customers[:60])
        product, _, price = chance.choice(PRODUCTS)
        channel = chance.choice(["web", "web", "web", "phone", "wholesale"])
        quantity = chance.randrange(10, 41) if channel == "wholesale" else chance.randrange(1, 6)
        currency = CURRENCY[customer[2].strip()]
        price /= RATES[currency]
        if day.year == 2023:  # the old shop: net prices, and no word on the currency
            price, currency = price / 1.07, ""
        rows.append(
            [
                f"{number + 1000}",
                day.strftime("%d/%m/%Y"),
                customer[0] + (" " if chance.random() < 0.05 else ""),
                product,
                str(quantity),
                f"{price:.2f}" if chance.random() > 0.04 else "",
                currency,
                channel,
            ]
        )
    # The export repeats some orders.
    for place in sorted((chance.randrange(len(rows)) for _ in range(8)), reverse=True):
        rows.insert(place + 1, list(rows[place]))
    return rows


def make_prices() -> list[list[str]]:
    return [
        [product, category, f"{price:.2f}".replace(".", ",")]
        for product, category, price in PRODUCTS
    ]


def write(path: Path, rows: list[list[str]], separator: str = ",") -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=separator, lineterminator="\n").writerows(rows)


def main(folder: Path) -> None:
    chance = random.Random(SEED)
    customers = make_customers(chance)
    orders = make_orders(chance, customers)
    header = ["customer_id", "name", "country", "email", "joined"]
    write(folder / "customers.csv", [header, *customers])
    write(folder / "orders.csv", [ORDER_COLUMNS, *orders])
    write(folder / "prices.csv", [["product", "category", "price_eur"], *make_prices()], ";")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
