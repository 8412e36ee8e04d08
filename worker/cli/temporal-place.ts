// Which Temporal a command of people means, and where its pages are: flags, variables, what `pawl dev` has written.

import type { Command } from 'commander'
import { resolve } from 'node:path'

import { readState } from '../dev/state.ts'
import type { Config } from '../server/config.ts'
import { readFlags } from '../server/flags.ts'
import { TEMPORAL_FLAGS, temporalTarget, type TemporalTarget } from '../server/temporal.ts'
import { optionsOf, withFlags } from './flags.ts'

export interface TemporalPlaceFlags {
  readonly temporalAddress?: string
  readonly dataDir?: string
}

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

export async function devAddress({ dataDir }: TemporalPlaceFlags, config: Config): Promise<string | undefined> {
  const state = await readState(dataDir === undefined ? config.dataDir : resolve(dataDir))
  return state?.parts.find(({ name }) => name === 'temporal')?.address ?? undefined
}
