import { posix } from 'node:path';
import type { Workspace } from '../workspaces.ts';
import { firstCycle } from './cycles.ts';
import { importsOf } from './imports.ts';
import { isTestCode, mayReachInside, type PackageRule } from './rules.ts';

export interface SourceFile {
  /** Path from the repository's root. */
  readonly path: string;
  readonly source: string;
}

export interface BoundaryInput {
  readonly rules: Readonly<Record<string, PackageRule>>;
  readonly workspaces: readonly Workspace[];
  readonly files: readonly SourceFile[];
  /** What the root's manifest lists: tools that every test may use. */
  readonly rootDependencies: readonly string[];
}

const packageNameOf = (specifier: string) => specifier.match(/^(@[^/]+\/)?[^/]+/)![0];

function allows(rule: PackageRule, specifier: string): boolean {
  return rule.imports.some((name) =>
    name.endsWith('/*') ? specifier.startsWith(name.slice(0, -1)) : specifier === name,
  );
}

/** Every breach of design section 2, one sentence each: where, what, and what to do. */
export function boundaryViolations({ rules, workspaces, files, rootDependencies }: BoundaryInput): string[] {
  const violations: string[] = [];
  const byName = new Map(workspaces.map((workspace) => [workspace.manifest.name, workspace]));
  const packageArrows = new Map<string, Set<string>>();
  const fileArrows = new Map<string, Set<string>>();
  const arrowsOf = (graph: Map<string, Set<string>>, from: string) => {
    const arrows = graph.get(from) ?? new Set();
    graph.set(from, arrows);
    return arrows;
  };

  for (const { manifest, folder } of workspaces) {
    const rule = rules[manifest.name];
    if (rule === undefined) {
      violations.push(
        `${folder}: ${manifest.name} has no row in scripts/boundaries/rules.ts; say there what it may import`,
      );
      continue;
    }
    const runtime = { ...manifest.dependencies, ...manifest.peerDependencies, ...manifest.optionalDependencies };
    for (const name of Object.keys(runtime)) {
      if (byName.has(name)) arrowsOf(packageArrows, manifest.name).add(name);
      if (!rule.imports.some((allowed) => packageNameOf(allowed) === name)) {
        violations.push(
          `${folder}/package.json: ${manifest.name} may not depend on ${name} at run time (scripts/boundaries/rules.ts)`,
        );
      }
    }
  }

  for (const { path, source } of files) {
    const workspace = workspaces.find(({ folder }) => path.startsWith(`${folder}/`));
    const rule = workspace === undefined ? undefined : rules[workspace.manifest.name];
    const inWorkspace = workspace === undefined ? path : path.slice(workspace.folder.length + 1);
    for (const { specifier, line, isEvaluated } of importsOf(path, source)) {
      const report = (problem: string) => violations.push(`${path}:${line}: ${problem}`);
      if (specifier.startsWith('node:')) continue;
      if (specifier.startsWith('.')) {
        const target = posix.join(posix.dirname(path), specifier);
        const owner = workspaces.find(({ folder }) => target === folder || target.startsWith(`${folder}/`));
        if (owner !== undefined && owner !== workspace) {
          if (mayReachInside(path)) continue;
          report(
            `reaches into ${owner.folder} by path (${specifier}); import ${owner.manifest.name} through its exports`,
          );
        } else if (workspace !== undefined && owner === undefined) {
          report(`leaves its package by path (${specifier}); a package must work when it is installed alone`);
        } else if (isTestCode(target.slice((owner?.folder.length ?? -1) + 1)) && !isTestCode(inWorkspace)) {
          report(`shipped code imports test code (${specifier})`);
        }
        if (isEvaluated) arrowsOf(fileArrows, path).add(target);
        continue;
      }
      const name = packageNameOf(specifier);
      const target = byName.get(name);
      if (target !== undefined && target !== workspace) {
        const subpath = `.${specifier.slice(name.length)}`;
        if (target.manifest.exports?.[subpath] === undefined) {
          report(`${specifier} is not among the exports of ${name}; import what it exports, or export it there`);
        }
      }
      if (workspace === undefined || rule === undefined || target === workspace) continue;
      const { dependencies, devDependencies, peerDependencies, optionalDependencies } = workspace.manifest;
      const listed = { ...dependencies, ...devDependencies, ...peerDependencies, ...optionalDependencies };
      if (isTestCode(inWorkspace)) {
        if (!(name in listed) && !rootDependencies.includes(name)) {
          report(`a test imports ${name}, which is not in the package's dependencies or devDependencies; add it there`);
        }
      } else if (!allows(rule, specifier)) {
        report(
          `${workspace.manifest.name} may not import ${specifier} (design section 2; scripts/boundaries/rules.ts)`,
        );
      } else if (target !== undefined) {
        arrowsOf(packageArrows, workspace.manifest.name).add(name);
      }
    }
  }

  for (const [graph, kind] of [
    [packageArrows, 'packages'],
    [fileArrows, 'files'],
  ] as const) {
    const cycle = firstCycle(graph);
    if (cycle !== undefined)
      violations.push(`a cycle of ${kind}: ${cycle.join(' → ')}; move what both need into a third`);
  }
  return violations;
}
