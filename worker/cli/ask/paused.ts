// What holds objects back, as their status says, or as their annotation does where no run has said it yet; and which parts are left out.

import {
  annotation,
  groupKindOf,
  groupKindText,
  type Path,
  type Projection,
  textAt,
  valueAt,
} from '../../../workflows/kit/index.ts'
import { builtInRegistry } from '../../server/registry.ts'
import { nameOf, shown } from './texts.ts'

const STEERING = new Map(
  [...builtInRegistry.controllers.values()].flatMap((controller) => {
    if (controller.mode !== 'job' || controller.steering === undefined) return []
    return [[groupKindText(groupKindOf(controller.target)), controller.steering] as const]
  }),
)

type Asked = Parameters<typeof nameOf>[0] & { readonly group: string; readonly projection: Projection }

/** In a few words; undefined: nothing holds it back, as far as the journal knows. */
export function pausedText({ group, kind, projection }: Asked): string | undefined {
  const { pause: pausing, skip } = STEERING.get(groupKindText({ group, kind })) ?? {}
  if (skip !== undefined) return skippedText(textAt(projection, annotation(skip)))
  if (pausing === undefined) return undefined
  if (valueAt(projection, pausing.told) !== undefined) return toldText(projection, pausing.told)
  const value = textAt(projection, annotation(pausing.annotation)) ?? ''
  return value === '' || value === 'false' ? undefined : `paused: ${shown(value, 200)}`
}

function toldText(projection: Projection, at: Path): string {
  const [by, since, reason] = ['by', 'since', 'reason'].map((key) => textAt(projection, [...at, key]))
  const why = reason === undefined || reason === 'true' || reason.startsWith('parent:') ? '' : `: ${reason}`
  return shown(`paused by ${by ?? 'somebody'}${since === undefined ? '' : ` since ${since}`}${why}`, 400)
}

function skippedText(value = ''): string | undefined {
  if (value.trim() === '' || value === 'false') return undefined
  return `left out${value === 'true' ? '' : `: ${shown(value, 200)}`}`
}

/** A sentence. */
export function pauseTold(object: Asked): readonly string[] {
  const text = pausedText(object)
  if (text?.startsWith('left out') === true) return [`${nameOf(object)} is ${text} (pawl skip --undo).`]
  return text === undefined
    ? []
    : [`${nameOf(object)} is ${text}; what it has not begun waits until it goes on (pawl resume).`]
}
