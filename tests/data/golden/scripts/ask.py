"""Asks the Python packages for every recorded vector and prints where they differ.

    pip install jump-consistent-hash==3.6.0 guavahash==1.0.2 uhashring==2.5 \
        pymemcache==4.0.0 cassandra-driver==3.30.1
    python3 ask.py ..

To record other keys or servers, replace them in the file and take the answers printed here.
"""

import json
import pathlib
import sys

import jump
from cassandra.metadata import MD5Token, Murmur3Token
from guavahash import guava
from pymemcache.client.rendezvous import RendezvousHash
from uhashring import HashRing

FOLDER = pathlib.Path(sys.argv[1])


def read(name):
    return json.loads((FOLDER / name).read_text())


def raw(key):
    """The bytes of a key: those of its UTF-8 text, or those written in hexadecimal."""
    return key.encode() if isinstance(key, str) else bytes.fromhex(key["hex"])


def compare(name, answers):
    """Takes tuples of a description, the recorded answer and the answer of the package."""
    asked = differing = 0
    for what, recorded, answer in answers:
        asked += 1
        if recorded != answer:
            differing += 1
            print(name, what, "recorded", recorded, "answer", answer)
    print(f"{name}: {asked} asked, {differing} differ")


def buckets(name, function):
    for key, count, bucket in read(name)["vectors"]:
        yield (key, count), bucket, function(int(key), count)


def uhashring():
    file = read("uhashring.json")
    for group in file["groups"]:
        nodes = {node["name"]: {"weight": node["weight"]} for node in file["configurations"][group["config"]]}
        options = {
            "ketama": {"hash_fn": "ketama"},
            "ketama_vnodes_80": {"hash_fn": "ketama", "vnodes": 80},
            "default": {},
        }[group["ring"]]
        ring = HashRing(nodes, **options)
        for key, node in group["vectors"]:
            yield (group["config"], group["ring"], key), node, ring.get_node(key)


def pymemcache():
    for group in read("pymemcache.json")["groups"]:
        ring = RendezvousHash(group["nodes"])
        for key, node in group["vectors"]:
            yield (group["config"], key), node, ring.get_node(key)


def cassandra():
    for group in read("cassandra.json")["groups"]:
        token = Murmur3Token if group["config"].startswith("Murmur3") else MD5Token
        for key, value in group["vectors"]:
            yield (group["config"], key), value, str(token.hash_fn(raw(key)))


compare("jump.json", buckets("jump.json", jump.hash))
compare("guavahash.json", buckets("guavahash.json", guava))
compare("uhashring.json", uhashring())
compare("pymemcache.json", pymemcache())
compare("cassandra.json", cassandra())
