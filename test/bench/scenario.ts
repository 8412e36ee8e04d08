// The interface of a bench scenario, and the registry. Each file in `scenarios/` exports one `scenario`; the name of the file is the name of the scenario.

import { readdir } from 'node:fs/promises'

import type { Flags, Options } from './options.ts'
import type { Report } from './report.ts'

export interface Scenario {
  /** One line for --help. */
  readonly summary: string
  /** The scenario's own flags. */
  readonly flags?: Flags
  /** Runs on a Pawl that `withSet` starts, or starts its own servers. Stops everything that it started. */
  readonly run: (context: Context) => Promise<ScenarioResult>
}

export interface Context {
  readonly options: Options
  /** Prints a line of progress. */
  readonly log: (line: string) => void
  /** Rejects on Ctrl-C. */
  readonly interrupted: Promise<never>
  /** Aborts on Ctrl-C, so that a start of servers ends. */
  readonly signal: AbortSignal
}

/** The parts of the report that depend on the scenario. */
export type ScenarioResult = Pick<Report, 'failures' | 'sections'>

const FOLDER = new URL('scenarios/', import.meta.url)

/** The names of all scenarios. */
export async function scenarioNames(): Promise<readonly string[]> {
  const files = await readdir(FOLDER)
  return files.filter((file) => file.endsWith('.ts')).map((file) => file.slice(0, -'.ts'.length))
}

/** @throws when no file has the name. */
export async function loadScenario(name: string): Promise<Scenario> {
  const names = await scenarioNames()
  if (!names.includes(name)) throw new Error(`scenario "${name}": unknown, expected one of ${names.join(', ')}`)
  const { scenario } = (await import(new URL(`${name}.ts`, FOLDER).href)) as { readonly scenario: Scenario }
  return scenario
}
