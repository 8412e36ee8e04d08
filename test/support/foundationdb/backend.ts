// The FoundationDB of the scenarios: the tools of `$PAWL_FDB_BIN`, an installation in PATH, or the simulator. Tests cannot tell the difference.

import { findInstallation } from '../../../activities/foundationdb/pods/in-dev.ts'

export interface Backend {
  /** The folder of real tools; undefined: the simulator. */
  readonly folder: string | undefined
  /** Variables of worker, node agent and tools. */
  readonly environment: Readonly<Record<string, string>>
  /** A line for the user. */
  readonly note: string
  /** The flags of a worker without a folder of tools. */
  readonly workerFlags: readonly string[]
}

/** The documented waits of the tools, shortened in the simulator. */
const SIMULATED: Backend = {
  folder: undefined,
  note: 'a simulator of FoundationDB',
  environment: { FDB_SIM_TIME_SCALE: '0.1' },
  workerFlags: ['--fdb-simulator', 'yes'],
}

const installation = findInstallation({ flags: {}, env: process.env })
export const IS_REAL = installation !== undefined
export const BACKEND: Backend =
  installation === undefined ? SIMULATED : { ...installation, environment: {}, workerFlags: [] }

/**
 * How long a real database may take for one step of a scenario. Source: recordings 22 and 29: a recovery is followed by 40 s
 * without data distribution, and the loss of a process is noticed after 70 s.
 */
const REAL_LIMIT_MS = 600_000
export const PATIENCE = { timeout: IS_REAL ? REAL_LIMIT_MS : 120_000, interval: 100 }
/** The time limit of a test with up to three steps. */
export const TEST_LIMIT = { timeout: IS_REAL ? 3 * REAL_LIMIT_MS : 240_000 }
