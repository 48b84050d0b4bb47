"""Honest: pickle, copy, deepcopy, json with encoders, csv and sqlite."""

import copy
import csv
import json
import pickle
import sqlite3

class Node:
    def __init__(self, value, below=()):
        self.value, self.below = value, list(below)

    def __eq__(self, other):
        return isinstance(other, Node) and (self.value, self.below) == (other.value, other.below)

    def __reduce__(self):
        return Node, (self.value, self.below)

class Encoder(json.JSONEncoder):
    def default(self, thing):
        return {"value": thing.value} if isinstance(thing, Node) else super().default(thing)
# <last>
node = Node(means, [Node(1)])
again, deep, flat = pickle.loads(pickle.dumps(node)), copy.deepcopy(node), copy.copy(node)
assert node == again == deep == flat and deep.below[0] is not node.below[0] and Node(1) != Node(2)
assert json.loads(json.dumps(node, cls=Encoder)) == {"value": means}
with open("x.csv", "w", newline="") as file:
    csv.writer(file).writerows([["a", "b"], [1, 2]])
with open("x.csv", newline="") as file:
    assert list(csv.DictReader(file)) == [{"a": "1", "b": "2"}]
with sqlite3.connect(":memory:") as base:
    base.execute("create table t (n real)")
    base.executemany("insert into t values (?)", [(mean,) for mean in means])
    means = [row[0] for row in base.execute("select n from t")]
base.close()
