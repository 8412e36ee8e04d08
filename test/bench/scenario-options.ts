// Options that belong to single scenarios. They are read here, so that options.ts knows only what all have in common.

import { resolve } from 'node:path'

/** `full` as the goals are set, `small` a tenth of it, `tiny` a hundredth: only to see that it works. */
export const SIZES = ['tiny', 'small', 'full'] as const
export type Size = (typeof SIZES)[number]

/** The parts of the scale scenario. */
export const SCALE_PARTS = ['throughput', 'items', 'most-items', 'levels', 'wakes', 'growth', 'idle', 'turns'] as const
export type ScalePart = (typeof SCALE_PARTS)[number]

/** How Disruptions have their targets chosen. */
export const TARGETINGS = ['dynamic', 'static'] as const
export type Targeting = (typeof TARGETINGS)[number]

export interface ScenarioOptions {
  /** latency: how many Installations one after the other. */
  readonly count: number
  /** scale, disruptions */
  readonly size: Size
  /** scale */
  readonly parts: readonly ScalePart[]
  /** scale: where the SVG of the growth goes; undefined: nowhere. */
  readonly plot: string | undefined
  /** soak: how long changes are made. */
  readonly minutes: number
  /** faults: how many strike. */
  readonly faults: number
  /** faults: what chance is drawn from; undefined: another one each time. */
  readonly seed: number | undefined
  /** faults: how many Pawls side by side. */
  readonly lanes: number
  /** disruptions */
  readonly targetings: readonly Targeting[]
  /** All of them: whether a load comes first that is not measured. Without it, times say nothing. */
  readonly warmUp: boolean
}

const DEFAULTS = { count: '100', size: 'small', minutes: '20', faults: '10000', lanes: '2' }

export const SCENARIO_FLAGS = {
  count: { type: 'string' },
  size: { type: 'string' },
  parts: { type: 'string' },
  plot: { type: 'string' },
  minutes: { type: 'string' },
  faults: { type: 'string' },
  seed: { type: 'string' },
  lanes: { type: 'string' },
  targeting: { type: 'string' },
  'no-warm-up': { type: 'boolean' },
} as const

export const SCENARIO_USAGE = `options of single scenarios:
  --count N             latency: Installations one after the other (${DEFAULTS.count})
  --size S              scale, disruptions: ${SIZES.join(', ')} (${DEFAULTS.size}); small is a tenth of full, tiny a hundredth
  --parts LIST          scale: ${SCALE_PARTS.join(', ')} (all)
  --plot FILE           scale: draw the growth, e.g. docs/performance-growth.svg
  --minutes N           soak: how long (${DEFAULTS.minutes}); 2 is a short form
  --faults N            faults: how many strike (${DEFAULTS.faults})
  --seed N              faults: to repeat a run's chance (another one each time)
  --lanes N             faults: how many Pawls live through them side by side (${DEFAULTS.lanes})
  --targeting LIST      disruptions: ${TARGETINGS.join(', ')} (both)
  --no-warm-up          all of these: only to see that it works
`

type TextFlag = Exclude<keyof typeof SCENARIO_FLAGS, 'no-warm-up'>

/** @throws when a value is none of those that are expected. */
export function readScenarioOptions(
  values: Readonly<Partial<Record<TextFlag, string>> & { 'no-warm-up'?: boolean }>,
): ScenarioOptions {
  const { count = DEFAULTS.count, size = DEFAULTS.size, minutes = DEFAULTS.minutes, parts, plot } = values
  const { faults = DEFAULTS.faults, lanes = DEFAULTS.lanes, seed, targeting } = values
  return {
    count: positive('count', count),
    size: oneOf('size', size, SIZES),
    parts: someOf('parts', parts, SCALE_PARTS),
    targetings: someOf('targeting', targeting, TARGETINGS),
    plot: plot === undefined ? undefined : resolve(plot),
    minutes: positive('minutes', minutes),
    faults: positive('faults', faults),
    seed: seed === undefined ? undefined : positive('seed', seed),
    lanes: positive('lanes', lanes),
    warmUp: values['no-warm-up'] !== true,
  }
}

/** Without the flag all. */
function someOf<Name extends string>(flag: string, text: string | undefined, all: readonly Name[]): readonly Name[] {
  return text === undefined ? all : text.split(',').map((name) => oneOf(flag, name.trim(), all))
}

function oneOf<Name extends string>(flag: string, text: string, all: readonly Name[]): Name {
  const found = all.find((name) => name === text)
  if (found === undefined) throw new Error(`--${flag}: found ${text}, expected one of ${all.join(', ')}`)
  return found
}

function positive(flag: string, text: string): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1)
    throw new Error(`--${flag}: found ${text}, expected a whole number from 1`)
  return number
}
