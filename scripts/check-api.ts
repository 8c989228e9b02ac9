import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import { publishedWorkspaces, repositoryRoot } from './workspaces.ts';

/** `etc/api/` of each published package shows what it exports, one report for each entry point, so that a review sees every change. */

interface EntryPoint {
  readonly declarations: string;
  readonly reportName: string;
}

function entryPointsOf(folder: string, exports: Readonly<Record<string, unknown>>): EntryPoint[] {
  return Object.entries(exports).flatMap(([subpath, target]) => {
    const types = (target as { types?: string }).types;
    if (types === undefined) return [];
    const reportName = subpath === '.' ? 'index' : subpath.slice(2).replaceAll('/', '-');
    return [{ declarations: join(repositoryRoot, folder, types), reportName: `${reportName}.api.md` }];
  });
}

function reportOf(folder: string, { declarations, reportName }: EntryPoint, scratch: string): string {
  if (!existsSync(declarations))
    throw new Error(`${relative(repositoryRoot, declarations)} is missing: run npm run build first`);
  const projectFolder = join(repositoryRoot, folder);
  const quiet = { default: { logLevel: ExtractorLogLevel.None } };
  const config = ExtractorConfig.prepare({
    configObject: {
      projectFolder,
      mainEntryPointFilePath: declarations,
      newlineKind: 'lf',
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            target: 'ES2023',
            lib: ['ES2024', 'ESNext.Disposable'],
            module: 'NodeNext',
            moduleResolution: 'NodeNext',
            strict: true,
            skipLibCheck: true,
            types: ['node'],
          },
          files: [declarations],
        },
      },
      apiReport: {
        enabled: true,
        reportFileName: reportName,
        reportFolder: scratch,
        reportTempFolder: join(scratch, 'temp'),
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        extractorMessageReporting: quiet,
        tsdocMessageReporting: quiet,
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(projectFolder, 'package.json'),
  });
  const errors: string[] = [];
  Extractor.invoke(config, {
    localBuild: true,
    messageCallback: (message) => {
      message.handled = true;
      if (message.logLevel === ExtractorLogLevel.Error) errors.push(message.text);
    },
  });
  if (errors.length > 0) throw new Error(`${folder}: ${errors.join('; ')}`);
  return readFileSync(join(scratch, reportName), 'utf8');
}

const { values } = parseArgs({ options: { update: { type: 'boolean', default: false } } });
const scratch = mkdtempSync(join(tmpdir(), 'sendonce-api-'));
let stale = 0;
try {
  for (const { folder, manifest } of publishedWorkspaces()) {
    const reportFolder = join(repositoryRoot, folder, 'etc/api');
    const entryPoints = entryPointsOf(folder, manifest.exports ?? {});
    const existing = existsSync(reportFolder) ? readdirSync(reportFolder) : [];
    const orphans = existing.filter((name) => !entryPoints.some(({ reportName }) => reportName === name));
    if (values.update) {
      mkdirSync(reportFolder, { recursive: true });
      for (const name of orphans) rmSync(join(reportFolder, name));
    } else {
      for (const name of orphans) console.error(`${folder}/etc/api/${name} belongs to no entry point`);
      stale += orphans.length;
    }
    for (const entryPoint of entryPoints) {
      const report = reportOf(folder, entryPoint, scratch);
      const path = join(reportFolder, entryPoint.reportName);
      if (existsSync(path) && readFileSync(path, 'utf8') === report) continue;
      const shown = relative(repositoryRoot, path);
      if (values.update) {
        writeFileSync(path, report);
        console.log(`wrote ${shown}`);
      } else {
        console.error(`${shown} differs from what the build exports`);
        stale += 1;
      }
    }
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
if (stale > 0) {
  console.error('Run "npm run api -- --update", read the difference, and commit it.');
  process.exitCode = 1;
}
