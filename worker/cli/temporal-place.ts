// Which Temporal a command of people means, and where its pages are: flags, variables, what `pawl dev` has written.

import type { Command } from 'commander'

import type { Config } from '../server/config.ts'
import { readFlags } from '../server/flags.ts'
import { TEMPORAL_FLAGS, temporalTarget, type TemporalTarget } from '../server/temporal.ts'
import { type DevFlags, findDev } from './dev-folder.ts'
import { optionsOf, withFlags } from './flags.ts'

export interface TemporalPlaceFlags extends DevFlags {
  readonly temporalAddress?: string
}

/** For messages of commands that found none. */
export const EXPECTED_TEMPORAL =
  '--temporal-address, $PAWL_TEMPORAL_ADDRESS, or a pawl dev that runs: by the $KUBECONFIG that it has written, or by --data-dir'

export function withTemporalFlags(command: Command): Command {
  const flag = '--temporal-address <host:port>'
  return withFlags(
    command.option(flag, 'Temporal (default: $PAWL_TEMPORAL_ADDRESS, else that of pawl dev)'),
    TEMPORAL_FLAGS,
  )
}

/** Undefined: nobody said where it is. @throws UsageError for flags that contradict each other. */
export async function temporalPlace(
  flags: TemporalPlaceFlags,
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
