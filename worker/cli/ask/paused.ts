// What holds objects back, as their status says, or as their annotation does where no run has said it yet.

import {
  annotation,
  groupKindOf,
  groupKindText,
  type Projection,
  textAt,
  valueAt,
} from '../../../workflows/kit/index.ts'
import { builtIn } from '../../server/registry.ts'
import { nameOf, shown } from './texts.ts'

const PAUSING = new Map(
  [...builtIn.controllers.values()].flatMap((controller) => {
    if (controller.mode !== 'job' || controller.steering?.pause === undefined) return []
    return [[groupKindText(groupKindOf(controller.target)), controller.steering.pause] as const]
  }),
)

type Asked = Parameters<typeof nameOf>[0] & { readonly group: string; readonly projection: Projection }

/** In a few words; undefined: nothing holds it back, as far as the journal knows. */
export function pausedText({ group, kind, projection }: Asked): string | undefined {
  const pausing = PAUSING.get(groupKindText({ group, kind }))
  if (pausing === undefined) return undefined
  const told = valueAt(projection, pausing.told)
  const value = textAt(projection, annotation(pausing.annotation)) ?? ''
  if (told === undefined) return value === '' || value === 'false' ? undefined : `paused: ${shown(value, 200)}`
  const [by, since, reason] = ['by', 'since', 'reason'].map((key) => textAt(projection, [...pausing.told, key]))
  const why = reason === undefined || reason === 'true' || reason.startsWith('parent:') ? '' : `: ${reason}`
  return shown(`paused by ${by ?? 'somebody'}${since === undefined ? '' : ` since ${since}`}${why}`, 400)
}

/** A sentence. */
export function pauseTold(object: Asked): readonly string[] {
  const text = pausedText(object)
  return text === undefined
    ? []
    : [`${nameOf(object)} is ${text}; what it has not begun waits until it goes on (pawl resume).`]
}
