// What `npm run bench` can be told. Every option has a default, so that the bare command measures the whole table.

import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

import { OPERATIONS, type Operation } from './load.ts'
import { DEPLOYERS, type Deployer } from './installations.ts'

export interface Options {
  /** The name of a scenario, see scenarios.ts. */
  readonly scenario: string
  /** Names of rows; undefined: all of the table. */
  readonly rows: readonly string[] | undefined
  readonly deployers: readonly Deployer[]
  readonly operations: readonly Operation[]
  /** How often each row is measured; medians are shown. */
  readonly runs: number
  /** Data folder of a running `pawl dev`; undefined: a set of the bench's own. */
  readonly dataDir: string | undefined
  readonly out: string
  /** Whether the figures become the new baseline. */
  readonly record: boolean
  /** How long CPU profiles may get; undefined: none are taken. */
  readonly profileSeconds: number | undefined
  readonly yardsticks: boolean
  /** How long one operation may take. */
  readonly timeoutMs: number
}

const DEFAULTS = { scenario: 'table', out: 'bench-report.md', runs: 3, timeoutSeconds: 600 }

export const USAGE = `usage: npm run bench -- [options]

  --scenario NAME       what to measure (${DEFAULTS.scenario})
  --rows LIST           of the table, e.g. 1x1,1x10-chain,100x5: installations x items (all)
  --deployers LIST      ${DEPLOYERS.join(', ')} (both)
  --ops LIST            ${OPERATIONS.join(', ')}; create always comes first (all)
  --runs N              measure each row N times, show medians (${DEFAULTS.runs})
  --timeout SECONDS     per operation (${DEFAULTS.timeoutSeconds})
  --data-dir DIR        measure a running pawl dev instead of a set of its own
  --profile SECONDS     afterwards, CPU profiles of bridge and worker and the statements of PostgreSQL during 100x5
  --no-yardsticks       leave out what shows how fast the machine is
  --record              make these figures the baseline (test/bench/baseline.json); needs the yardsticks
  --out FILE            the report, which goes to standard output, too (${DEFAULTS.out})

The exit code is 1 if any row did not complete.
`

/** Reads the arguments; undefined: help is wanted. @throws with all that is wrong. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...{ scenario: { type: 'string' }, rows: { type: 'string' }, deployers: { type: 'string' } },
      ...{ ops: { type: 'string' }, runs: { type: 'string' }, timeout: { type: 'string' } },
      ...{ 'data-dir': { type: 'string' }, out: { type: 'string' }, profile: { type: 'string' } },
      ...{ record: { type: 'boolean' }, 'no-yardsticks': { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    },
  })
  if (values.help === true) return undefined
  const yardsticks = values['no-yardsticks'] !== true
  if (values.record === true && !yardsticks)
    throw new Error('--record needs the yardsticks, expected no --no-yardsticks')
  return {
    scenario: values.scenario ?? DEFAULTS.scenario,
    rows: values.rows === undefined ? undefined : list(values.rows),
    deployers: chosen('deployers', values.deployers, DEPLOYERS),
    operations: chosen('ops', values.ops, OPERATIONS),
    runs: positive('runs', values.runs ?? String(DEFAULTS.runs)),
    timeoutMs: positive('timeout', values.timeout ?? String(DEFAULTS.timeoutSeconds)) * 1000,
    dataDir: values['data-dir'] === undefined ? undefined : resolve(values['data-dir']),
    out: resolve(values.out ?? DEFAULTS.out),
    record: values.record === true,
    profileSeconds: values.profile === undefined ? undefined : positive('profile', values.profile),
    yardsticks,
  }
}

function list(text: string): string[] {
  return text.split(',').map((part) => part.trim())
}

function chosen<Name extends string>(flag: string, text: string | undefined, all: readonly Name[]): readonly Name[] {
  if (text === undefined) return all
  const wanted = list(text)
  const unknown = wanted.filter((name) => !all.some((one) => one === name))
  if (unknown.length > 0) throw new Error(`--${flag}: found ${unknown.join(', ')}, expected some of ${all.join(', ')}`)
  return all.filter((name) => wanted.includes(name))
}

function positive(flag: string, text: string): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1)
    throw new Error(`--${flag}: found ${text}, expected a whole number from 1`)
  return number
}
