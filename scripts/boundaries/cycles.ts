/** The first cycle of a directed graph, its start repeated at the end; `undefined` where there is none. */
export function firstCycle(graph: ReadonlyMap<string, ReadonlySet<string>>): string[] | undefined {
  const done = new Set<string>();
  const trail: string[] = [];
  const onTrail = new Set<string>();

  const visit = (node: string): string[] | undefined => {
    if (onTrail.has(node)) return [...trail.slice(trail.indexOf(node)), node];
    if (done.has(node)) return undefined;
    trail.push(node);
    onTrail.add(node);
    for (const next of graph.get(node) ?? []) {
      const cycle = visit(next);
      if (cycle !== undefined) return cycle;
    }
    trail.pop();
    onTrail.delete(node);
    done.add(node);
    return undefined;
  };

  for (const node of graph.keys()) {
    const cycle = visit(node);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
