#!/usr/bin/env python3
"""Is what h5redset printed as docs/schema/ says? Its "schema" names which. Keys that the schema does not have are told as well: a
script may meet them, but the schema has to know them."""
import json
import os
import sys

import jsonschema


def strict(part):
    if isinstance(part, dict):
        if part.get("type") == "object":
            part["additionalProperties"] = False
        for value in part.values():
            strict(value)
    elif isinstance(part, list):
        for value in part:
            strict(value)
    return part


with open(sys.argv[1], encoding="utf-8") as printed:
    said = json.load(printed)
kind = said["schema"].removeprefix("h5redset-").partition("/")[0]
with open(os.path.join(os.environ["REDSET_SOURCE_DIR"], "docs", "schema", kind + ".json"), encoding="utf-8") as file:
    schema = strict(json.load(file))
wrong = sorted(jsonschema.Draft202012Validator(schema).iter_errors(said), key=str)
for error in wrong:
    print("not as docs/schema/%s.json says: %s: %s" % (kind, error.json_path, error.message[:300]))
sys.exit(len(wrong) > 0)
