from __future__ import annotations

import time

import pytest

from shiro_jupyter.core.policy.credentials import looks_credential

HEX = "8f14e45fceea167a5a36dedd4bea2543"

HARMLESS = """
the password column is hashed
the password field must be at least 8 characters
passwords are hashed with bcrypt cost 12
password: see 1Password
password: see 1Password vault 'ETL'
password is in 1Password
password is 1Password-managed
password: ask Anna
password is required
password is sha256-hashed
password: sha256 of the salted text
password is base64-encoded
password: varchar(64)
password: VARCHAR255 in users
password: int64 by mistake
password rotation: 90 days
password is 8chars at least
password: 12 characters, one digit
the password is the same as for db1
password=changeme is the compose default for local dev
password = os.environ["PGPASSWORD"]
password=os.environ['PGPASSWORD'] is read in db.py
password = config.db1.password
password = db_password_v2
password = DB2_PASSWORD
password: $DB_PASS1
password=${PGPASSWORD2}
password: {password1}
password: <your-password1>
password: vault/etl2/db
password: ETL-4711 tracks it
password: anna1@example.org knows it
password: https://vault.example.com/v1/etl
password: creds1.yaml, in the vault
set password=None in tests
pwd: always the project folder
pwd=/home/etl1/project
pwd is /srv/etl2
pw: power spectrum
pass=True means QC ok
pass: 12, fail: 3
pass rate is 93%
pass: stage2 of the pipeline
first_pass=epoch10 is the checkpoint
max_pass: sweep12
bypass=level12 skips the cache
compass: heading270
key = order_id
key = customer_id + date
the primary key is order_id
partition key: tenant_id
key: value pairs sep by ;
row key: 550e8400-e29b-41d4-a716-446655440000
the S3 key is 2024/part-0000-9f86d081-884c-7d65-9a2f-eaa0c55ad015.parquet
public key: 8f14e45fceea167a5a36dedd4bea2543
the cache key 8f14e45fceea167a5a36dedd4bea2543 is stale
public key ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJq1 deploy
ssh key is in the agent
api keys live in the vault under team/payments
the API key comes from $OPENAI_API_KEY
API key rotation is due 2026-12-01
api_key param is named apikey
token counts are per row
token limit is 4096
tokens: 1200 per block
token=abc means nothing
token_type: bearer
access_token: see vault
the token is rotated weekly
auth token expires after 3600 seconds
the token column in logs.csv is hashed
secret: ask Anna
secret: db-creds-v2 in the cluster
secret_name: etl/prod/db
SECRET_KEY must be set in CI
secret santa list is in hr.csv
the pin column is int
pin numpy=1.26 until the port is done
PIN: 12 of the board is the reset
pin=GPIO17
the placeholder https://user:password@host/ is the form of the address
https://user:password@host/ is the form of the address
postgresql://USER:PASSWORD@host/db is the form
postgresql://etl:$PGPASSWORD@host/db
postgresql://etl:${DB_PASS2}@host/db
postgresql://etl:<password>@host/db
postgresql://etl:***@host/db
postgres://user@localhost/etl
postgres://localhost:5432/etl is the dev db
git@github.com:team/etl2.git is the remote
docker run -u 1000:1000 etl:v2
docker run --user root:root etl
docker run -p3306:3306 mysql
curl -u $USER:$TOKEN https://x
curl -u user:password https://x is the form
curl -u bob https://x asks for it
rsync -u host1:/data/x2 .
mysql -u root -p asks for it
mysql -u root -p"$PW1" db
mysql -P3307 -u root is the replica
sshpass -e ssh x
sshpass -p "$PW1" ssh x
docker login --password-stdin
psql --no-password -h db1
etl --password flag is ignored
etl --password=$PW1
etl --token-file=tokens2.json
commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b fixed it
sha256 of orders.csv is 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
mlflow run id 0a1b2c3d4e5f60718293a4b5c6d7e8f9
das Passwort steht im Tresor
Passwort: siehe Tresor
Passwort ist Pflicht
mot de passe: voir le coffre
""".strip().split("\n")

SECRET = f"""
password: hunter2
password: hunter22
password: Hunter2!
Password = "hunter2"
password:hunter2.
the db password is hunter2
the password is Tr0ub4dor&3
password is Tr0ub4dor3
password was Tr0ub4dor3 till May
admin password = admin1
password: 123456
password: P@ssWord!x
PGPASSWORD=hunter2 psql
DB_PASSWORD=Tr0ub4dor3
db_pass=Tr0ub4dor3
export MYSQL_PWD=hunter2
user=bob pass=xyzzy42
login bob, pass: xyzzy42
pw: Tr0ub4dor3
pwd: letmein99
db-pw = Tr0ub4dor3
user/password: scott/tiger1
passphrase: c0rrect-horse
password => 'Tr0ub4dor3'
{{"password": "hunter2"}}
curl -u bob:hunter2 https://x
curl --user bob:swordfish https://x
curl -ubob:hunter2 https://x
wget --password=swordfish https://x
mysql -u root -pS3cret db
mysqldump -uroot -pswordfish etl
sshpass -p hunter2 ssh x
sshpass -phunter2 ssh x
etl --password hunter2
etl --db-password=swordfish
redis-cli -a hunter2
openssl rsa -passin pass:hunter2
unzip -P hunter2 x.zip
smbclient //x/y -U bob%hunter2
echo hunter2 | sudo -S reboot
postgresql://bob:pw@host/db
postgres://admin:s3cr3t@db.example.com/x
ftp://bob:hunter2@host/
connect as bob:hunter2@db.example.com
token is {HEX}
the token {HEX} is the demo's
token={HEX}
API key {HEX}
api-key is {HEX}
api key: 550e8400-e29b-41d4-a716-446655440000
key={HEX}
secret key: aB3dE5gH7jK9mN1pQ3sT5v
Passwort: Geheim123!
das Passwort lautet Geheim123!
Kennwort: Geheim123!
mot de passe: Geheim123!
le mot de passe est Geheim123
contraseña: Secreto123
senha: Segredo123
пароль: Tr0ub4dor3
密码是Tr0ub4dor3
パスワードはTr0ub4dor3
PIN=4711
my pin is 4711
pass\u200bword: hunter2xyz
password\uff1ahunter2xyz
p\u00adassword: hunter2
ｐａｓｓｗｏｒｄ: hunter2
AWS AKIAIOSFODNN7EXAMPLE
""".strip().split("\n")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_speaks_of_secrets_may_be_stored(text: str) -> None:
    assert looks_credential(text) == ""


@pytest.mark.parametrize("text", SECRET)
def test_what_tells_one_may_not(text: str) -> None:
    assert looks_credential(text)
    assert looks_credential(f"note: {text} (from Anna)")


def test_a_long_text_is_read_in_no_time() -> None:
    begun = time.perf_counter()
    for text in ("password " * 2_000, "a_" * 9_000 + "pass", "-u:" * 6_000, "curl " * 4_000):
        looks_credential(text)
    assert time.perf_counter() - begun < 2
