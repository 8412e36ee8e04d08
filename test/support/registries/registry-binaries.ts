// The registry and the command line of OCM: only tests have them, so only tests get them.

import { obtainBinaries } from '../../../worker/dev/obtain.ts'
import { readConfig } from '../../../worker/server/config.ts'

const NAMES = ['registry', 'ocm'] as const
const progress = (line: string) => process.stderr.write(`servers: ${line}\n`)

export async function registryBinary(name: (typeof NAMES)[number]): Promise<string> {
  return (await obtainBinaries([name], { config: readConfig(), progress }))[name]
}

/** Before the tests run, so that no build takes their time. Tests that need none of them go on without. */
export async function prepareRegistryBinaries(): Promise<void> {
  for (const name of NAMES)
    await registryBinary(name).catch((error: unknown) => {
      progress(error instanceof Error ? error.message : String(error))
    })
}
