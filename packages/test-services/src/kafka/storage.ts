import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const scramMechanisms = ['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const;

/** Writes a KRaft broker's first files (`kafka.tools.StorageTool format`), users of SCRAM included. */
export async function formatStorage(
  jars: string,
  propertiesFile: string,
  clusterId: string,
  jvmArgs: readonly string[],
  users: Readonly<Record<string, string>> = {},
): Promise<void> {
  const scram = Object.entries(users).flatMap(([name, password]) =>
    scramMechanisms.flatMap((mechanism) => ['--add-scram', `${mechanism}=[name=${name},password=${password}]`]),
  );
  const args = [
    ...jvmArgs,
    '-cp',
    join(jars, '*'),
    'kafka.tools.StorageTool',
    'format',
    '-t',
    clusterId,
    '-c',
    propertiesFile,
    ...scram,
  ];
  await promisify(execFile)('java', args);
}
