import { ConfigError } from '../../errors.ts';

/**
 * Loads an optional peer dependency.
 * @throws {ConfigError} naming the package and the command that installs it.
 */
export async function loadPeerPackage<Module>(
  codec: string,
  packageName: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    throw new ConfigError(
      `Compression '${codec}' needs the package ${packageName}, which could not be loaded. Run: npm install ${packageName}`,
      ['compression'],
      { cause },
    );
  }
}
