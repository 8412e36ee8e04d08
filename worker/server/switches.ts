// The controllers that a flag switches on: which are off, and the flags. What each wing says of it stands in its wing.ts.

import { WINGS } from '../../workflows/wings.gen.ts'
import type { FlagTable, Wing } from '../../workflows/kit/index.ts'
import type { GivenFlags } from './flags.ts'

type Wings = Readonly<Record<string, Pick<Wing, 'flags' | 'switches'>>>

/** The names of the controllers that are off, by what a process is given. */
export function switchedOff(given: GivenFlags, wings: Wings = WINGS): ReadonlySet<string> {
  const off = Object.values(wings).flatMap(({ flags, switches = {} }) =>
    Object.entries(switches).flatMap(([controller, flag]) => (isYes(flags, flag, given) ? [] : [controller])),
  )
  return new Set(off)
}

/** The flags: those of wings that the bridge has, too. */
export const SWITCH_FLAGS: FlagTable = Object.fromEntries(
  Object.values(WINGS).flatMap(({ flags, switches = {} }: Pick<Wing, 'flags' | 'switches'>) =>
    Object.values(switches).flatMap((name) => {
      const flag = flags[name]
      return flag === undefined ? [] : [[name, flag] as const]
    }),
  ),
)

function isYes(flags: FlagTable, name: string, given: GivenFlags): boolean {
  const flag = flags[name]
  return (given[name] ?? (flag !== undefined && 'otherwise' in flag ? flag.otherwise : undefined)) === 'yes'
}
