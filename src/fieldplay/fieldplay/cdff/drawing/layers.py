"""Which layer each node of a graph stands in, so that edges lead from left to right."""

from collections.abc import Sequence

Pair = tuple[int, int]


def feedback_edges(count: int, edges: Sequence[Pair]) -> set[int]:
    """The indexes of edges without which there is no cycle: those that lead back to where a walk came from."""
    outgoing: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for index, (source, target) in enumerate(edges):
        outgoing[source].append((target, index))
    state, back = [0] * count, set()  # 1: on the walk, 2: done
    for start in range(count):
        if state[start]:
            continue
        walk = [(start, iter(outgoing[start]))]
        state[start] = 1
        while walk:
            node, further = walk[-1]
            for target, index in further:
                if state[target] == 1:
                    back.add(index)
                elif not state[target]:
                    state[target] = 1
                    walk.append((target, iter(outgoing[target])))
                    break
            else:
                state[node] = 2
                walk.pop()
    return back


def longest_path_layers(count: int, edges: Sequence[Pair]) -> list[int]:
    """The layer of each node of a graph without cycles: one behind the last of those that lead to it."""
    layers, waiting = [0] * count, [0] * count
    outgoing: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        outgoing[source].append(target)
        waiting[target] += 1
    ready = [node for node in range(count) if not waiting[node]]
    while ready:
        node = ready.pop()
        for target in outgoing[node]:
            layers[target] = max(layers[target], layers[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return layers


def pulled_right(layers: Sequence[int], edges: Sequence[Pair], movable: Sequence[int]) -> list[int]:
    """Layers where nodes that nothing leads to stand right before what they lead to."""
    pulled = list(layers)
    entered = {target for _, target in edges}
    for node in movable:
        behind = [layers[target] for source, target in edges if source == node]
        if node not in entered and behind:
            pulled[node] = max(pulled[node], min(behind) - 1)
    return pulled
