// What `npm run bench` can be told. Every option has a default, so that the bare command measures the whole table.

import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

import type { TemporalStore } from '../../worker/dev/servers.ts'
import { DEPLOYERS, type Deployer } from './installations.ts'
import { OPERATIONS, type Operation } from './load.ts'
import { readScenarioOptions, SCENARIO_FLAGS, SCENARIO_USAGE, type ScenarioOptions } from './scenario-options.ts'

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
  /** Of the Temporal that the bench starts; each store has a baseline of its own. */
  readonly temporalStore: TemporalStore
  readonly out: string
  /** Whether the figures become the new baseline. */
  readonly record: boolean
  /** How long CPU profiles may get; undefined: none are taken. */
  readonly profileSeconds: number | undefined
  readonly yardsticks: boolean
  /** How long one operation may take. */
  readonly timeoutMs: number
  readonly scenarioOptions: ScenarioOptions
}

const STORES: readonly TemporalStore[] = ['sqlite', 'postgres']

const DEFAULTS = { scenario: 'table', out: 'bench-report.md', runs: 3, timeoutSeconds: 600 }

export const USAGE = `usage: npm run bench -- [SCENARIO] [options]

  --scenario NAME       the same as SCENARIO: what to measure (${DEFAULTS.scenario})
  --rows LIST           of the table, e.g. 1x1,1x10,100x5: installations x items, also NxM-chain (all)
  --deployers LIST      ${DEPLOYERS.join(', ')} (both)
  --ops LIST            ${OPERATIONS.join(', ')}; create always comes first (all)
  --runs N              measure each row N times, show medians (${DEFAULTS.runs})
  --timeout SECONDS     per operation (${DEFAULTS.timeoutSeconds})
  --data-dir DIR        measure a running pawl dev instead of a set of its own
  --temporal-store S    ${STORES.join(' or ')}, as pawl dev has them (${STORES[0]})
  --profile SECONDS     afterwards, CPU profiles of bridge and worker and the statements of PostgreSQL during 100x5,
                        or of what the scenario has
  --no-yardsticks       leave out what shows how fast the machine is
  --record              make the figures of these rows the baseline in test/bench/; needs the yardsticks
  --out FILE            the report, which goes to standard output, too (${DEFAULTS.out})

${SCENARIO_USAGE}
The exit code is 1 if any row did not complete, or a scenario's claim is not kept.
`

/** Reads the arguments; undefined: help is wanted. @throws with all that is wrong. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...SCENARIO_FLAGS,
      scenario: { type: 'string' },
      rows: { type: 'string' },
      deployers: { type: 'string' },
      'temporal-store': { type: 'string' },
      ops: { type: 'string' },
      runs: { type: 'string' },
      timeout: { type: 'string' },
      'data-dir': { type: 'string' },
      out: { type: 'string' },
      profile: { type: 'string' },
      record: { type: 'boolean' },
      'no-yardsticks': { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help === true) return undefined
  const yardsticks = values['no-yardsticks'] !== true
  if (values.record === true && !yardsticks)
    throw new Error('--record needs the yardsticks, expected no --no-yardsticks')
  return {
    scenario: scenarioOf(values.scenario, positionals),
    rows: values.rows?.split(',').map((name) => name.trim()),
    deployers: chosen('deployers', values.deployers, DEPLOYERS),
    operations: chosen('ops', values.ops, OPERATIONS),
    runs: positive('runs', values.runs ?? String(DEFAULTS.runs)),
    timeoutMs: positive('timeout', values.timeout ?? String(DEFAULTS.timeoutSeconds)) * 1000,
    dataDir: optional(values['data-dir'], resolve),
    temporalStore: chosen('temporal-store', values['temporal-store'] ?? 'sqlite', STORES)[0] ?? 'sqlite',
    out: resolve(values.out ?? DEFAULTS.out),
    record: values.record === true,
    profileSeconds: optional(values.profile, (text) => positive('profile', text)),
    yardsticks,
    scenarioOptions: readScenarioOptions(values),
  }
}

function scenarioOf(flag: string | undefined, positionals: readonly string[]): string {
  const names = [...positionals, ...(flag === undefined ? [] : [flag])]
  if (names.length > 1) throw new Error(`found the scenarios ${names.join(', ')}, expected one`)
  return names[0] ?? DEFAULTS.scenario
}

function chosen<Name extends string>(flag: string, text: string | undefined, all: readonly Name[]): readonly Name[] {
  if (text === undefined) return all
  const wanted = text.split(',').map((part) => part.trim())
  const unknown = wanted.filter((name) => !all.some((one) => one === name))
  if (unknown.length > 0) throw new Error(`--${flag}: found ${unknown.join(', ')}, expected some of ${all.join(', ')}`)
  return all.filter((name) => wanted.includes(name))
}

function optional<Value>(text: string | undefined, read: (text: string) => Value): Value | undefined {
  return text === undefined ? undefined : read(text)
}

function positive(flag: string, text: string): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1)
    throw new Error(`--${flag}: found ${text}, expected a whole number from 1`)
  return number
}
