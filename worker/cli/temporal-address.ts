// Finds Temporal and the pages of its UI for a command: by flags, variables, or a running `pawl dev`.

import type { Command } from 'commander'

import { type Config, readConfig } from '../server/config.ts'
import { readFlags } from '../server/flags.ts'
import { TEMPORAL_FLAGS, temporalTarget, type TemporalTarget } from '../server/temporal.ts'
import { DEV_HINT, type DevFlags, findDev } from './dev-folder.ts'
import { optionsOf, withFlags } from './options.ts'
import { UsageError } from '../server/usage-error.ts'

export interface TemporalAddressFlags extends DevFlags {
  readonly temporalAddress?: string
}

/** The hint for users when no address is found. */
export const TEMPORAL_HINT = `${DEV_HINT}, or pass --data-dir or --temporal-address`

export function withTemporalFlags(command: Command): Command {
  const flag = '--temporal-address <host:port>'
  return withFlags(
    command.option(flag, 'Temporal (default: $PAWL_TEMPORAL_ADDRESS, else from pawl dev)'),
    TEMPORAL_FLAGS,
  )
}

/** Undefined if no address is configured. @throws UsageError for flags that exclude each other. */
export async function findTemporal(
  flags: TemporalAddressFlags,
  config: Config,
  command: Command,
): Promise<TemporalTarget | undefined> {
  const address = flags.temporalAddress ?? config.temporalAddress ?? (await devAddress(flags, config))
  return address === undefined
    ? undefined
    : temporalTarget(address, readFlags(TEMPORAL_FLAGS, optionsOf(command)), config)
}

export async function devAddress(flags: DevFlags, config: Config): Promise<string | undefined> {
  const state = await findDev(flags, config)
  return state?.parts.find(({ name }) => name === 'temporal')?.address ?? undefined
}

// Flags for the page of a run in Temporal's UI.

export interface PageFlags extends DevFlags {
  readonly temporalUi?: string
}

export const UI_OPTION = [
  '--temporal-ui <url>',
  "URL of Temporal's UI, for links to runs (default: $PAWL_TEMPORAL_UI, else from pawl dev)",
] as const

interface TemporalRun {
  readonly workflowID: string
  /** Null if the run is not started yet. */
  readonly runID: string | null
}

/**
 * @returns undefined if the UI's address or the run is unknown. @throws UsageError if the address is not an HTTP URL.
 */
export async function runPage(flags: PageFlags, run: TemporalRun | undefined): Promise<string | undefined> {
  if (run?.runID == null) return undefined
  const config = readConfig()
  const { temporalUi, temporalNamespace } = config
  const base = flags.temporalUi ?? temporalUi ?? (await findDev(flags, config))?.temporalUi
  return base == null ? undefined : pageAt(base, temporalNamespace, { workflowID: run.workflowID, runID: run.runID })
}

/** @throws UsageError */
export function pageAt(
  base: string,
  namespace: string,
  { workflowID, runID }: { workflowID: string; runID: string },
): string {
  const url = URL.parse(base)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError(`--temporal-ui: "${base}" is not a URL; expected for example http://127.0.0.1:8233`)
  const segments = ['namespaces', namespace, 'workflows', workflowID, runID, 'history'].map(encodeURIComponent)
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}/${segments.join('/')}`
}
