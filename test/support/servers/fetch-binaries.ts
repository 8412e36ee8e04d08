// Gets the servers of all tests before any runs: those of `pawl dev`, and those that only tests have. Ends with code 1 where one of the former cannot be had;
// tests that need one of the latter are skipped then, which counts as a failure in CI (tally.js).

import { type Progress, obtainBinaries } from '../../../worker/dev/obtain.ts'
import { neededBinaries } from '../../../worker/dev/servers.ts'
import { readConfig } from '../../../worker/server/config.ts'

const OF_TESTS = ['registry', 'ocm', 'temporal-server', 'temporal-sql-tool'] as const

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
