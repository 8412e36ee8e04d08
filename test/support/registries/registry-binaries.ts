// Obtains the binaries of the OCI registry, the OCM command line and Helm, which only tests use.

import { obtainBinaries } from '../../../worker/dev/obtain.ts'
import { readConfig } from '../../../worker/server/config.ts'

const NAMES = ['registry', 'ocm', 'helm'] as const
const progress = (line: string) => process.stderr.write(`servers: ${line}\n`)

export async function registryBinary(name: (typeof NAMES)[number]): Promise<string> {
  return (await obtainBinaries([name], { config: readConfig(), progress }))[name]
}

/**
 * Obtains the binaries before the tests run, so that a build does not count towards a test's timeout. Only logs errors,
 * because most tests need none of them.
 */
export async function prepareRegistryBinaries(): Promise<void> {
  for (const name of NAMES)
    await registryBinary(name).catch((error: unknown) => {
      progress(error instanceof Error ? error.message : String(error))
    })
}
