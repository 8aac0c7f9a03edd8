"""What a description of form 1 lacks: the form 2 that it would need, as far as form 1 tells."""

import yaml

from fieldplay_cdff.descriptors.catalogue import known
from fieldplay_cdff.descriptors.model import Description, Port, ProcessingChain

MISSING = "TODO"


def form_2_of(description: Description) -> str:
    """The description as form 2; what form 1 does not tell is TODO."""
    content = {
        "name": description.name,
        "doc": description.doc,
        "input_ports": [_port(port) for port in description.inputs],
        "output_ports": [_port(port) for port in description.outputs],
        "implementations": [_implementation(chain) for chain in description.chains],
    }
    return yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=120)


def _port(port: Port) -> dict[str, str]:
    return {"name": port.name, "type": port.type, "doc": port.doc}


def _implementation(chain: ProcessingChain) -> dict[str, object]:
    catalogue = known()
    dfns, fed = [], {(each.target.step, each.target.port) for each in chain.connections}
    unfed = []
    for step in chain.steps:
        dfn = catalogue.meant(step.dfn)
        there = dfn.implementations if dfn else ()
        dfns.append({"dfn_id": step.id, "name": step.dfn, "implementation": there[0] if there else MISSING})
        ports = dfn.inputs if dfn else {}
        unfed += [(step.id, port) for port in ports if (step.id, port) not in fed]
    return {
        "name": chain.name or MISSING,
        "dfns": dfns,
        "input_connections": [
            {"dfpc_input": each.source.port, "dfn_id": each.target.step, "port": each.target.port}
            for each in chain.connections
            if each.source.step is None
        ],
        "internal_connections": [
            {"from": {"dfn_id": MISSING, "port": MISSING}, "to": {"dfn_id": step, "port": port}} for step, port in unfed
        ],
        "output_connections": [
            {"dfpc_output": each.target.port, "dfn_id": each.source.step, "port": each.source.port}
            for each in chain.connections
            if each.target.step is None
        ],
    }
