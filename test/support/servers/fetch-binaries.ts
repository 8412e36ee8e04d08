// Obtains the server binaries of all tests before a test runs. Exits with code 1 if a binary of `pawl dev` is missing.
// If a binary that only tests use is missing, the tests that need it are skipped; in CI, this is a failure (tally.js).

import { type Progress, obtainBinaries } from '../../../worker/dev/obtain.ts'
import { neededBinaries } from '../../../worker/dev/servers.ts'
import { readConfig } from '../../../worker/server/config.ts'

const OF_TESTS = ['registry', 'ocm', 'helm', 'temporal-server', 'temporal-sql-tool'] as const

const progress: Progress = (line) => process.stdout.write(`servers: ${line}\n`)
const options = { config: readConfig(), progress }
try {
  const found = await obtainBinaries(neededBinaries({}), options)
  for (const [name, path] of Object.entries(found)) progress(`${name}: ${path}`)
} catch (error) {
  progress(messageOf(error))
  process.exitCode = 1
}
for (const name of process.exitCode === undefined ? OF_TESTS : [])
  try {
    progress(`${name}: ${(await obtainBinaries([name], options))[name]}`)
  } catch (error) {
    progress(`tests that need ${name} cannot run: ${messageOf(error)}`)
  }

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
