// The commands `pawl pause` and `pawl resume`: hold back what an object has not begun, and let it go on, as the annotation does, with who and why.

import { Command } from 'commander'

import type { KubeObject } from '../../../activities/kube/client.ts'
import { groupKindText } from '../../../workflows/kit/index.ts'
import { UsageError } from '../../server/usage-error.ts'
import { isBusy, nameOf } from '../query/format.ts'
import { type Done, steer, type Steered, steeredKinds, type SteerFlags, withSteerFlags } from './open-object.ts'
import { annotate, tryToTell } from './record.ts'

export function pauseCommand(): Command {
  return withSteerFlags(
    new Command('pause').description('hold back what an object and those below it have not begun; what runs goes on'),
  )
    .addHelpText(
      'after',
      "\nExamples:\n  pawl pause inst/shop\n  pawl pause inst/shop --reason 'the freeze of the sale'\nUndo it with pawl resume.",
    )
    .action(async (words: readonly string[], flags: SteerFlags) => {
      await steer(words, flags, pause)
    })
}

export function resumeCommand(): Command {
  return withSteerFlags(new Command('resume').description('let an object go on that was paused'))
    .addHelpText('after', "\nExamples:\n  pawl resume inst/shop\n  pawl resume inst/shop --reason 'the sale is over'")
    .action(async (words: readonly string[], flags: SteerFlags) => {
      await steer(words, flags, resume)
    })
}

/** The value where nobody says why. */
const NO_REASON = 'true'

async function pause(steered: Steered): Promise<Done> {
  const { object, why, who } = steered
  const { annotation, title } = pausable(steered)
  const asked = await annotate(steered, 'pause', (present) =>
    valueIn(present, annotation) === undefined ? { [annotation]: why ?? NO_REASON } : undefined,
  )
  if (asked === 'asked') await tryToTell(steered, 'Paused', 'paused it')
  const rest = isBusy(object) ? 'what runs goes on to its end, and nothing more begins' : 'no job of it begins'
  return done(steered, asked, [
    asked === 'asked'
      ? `${title} is paused by ${who}: ${rest}`
      : `${title} was paused before: ${before(object, annotation)}`,
    `let it go on: pawl resume ${words(steered)}`,
  ])
}

async function resume(steered: Steered): Promise<Done> {
  const { who } = steered
  const { annotation, title } = pausable(steered)
  const asked = await annotate(steered, 'resume', (present) =>
    present.metadata.annotations?.[annotation] === undefined ? undefined : { [annotation]: null },
  )
  if (asked === 'asked') await tryToTell(steered, 'Resumed', 'let it go on')
  return done(steered, asked, [asked === 'asked' ? `${title} goes on, by ${who}` : `${title} is not paused`])
}

function done({ kind, namespace, name, object, who, why }: Steered, asked: string, lines: readonly string[]): Done {
  const { uid } = object.metadata
  return { lines, data: { kind: groupKindText(kind), namespace, name, uid, asked, by: who, why: why ?? null } }
}

function pausable({ kind, namespace, name }: Steered): { readonly annotation: string; readonly title: string } {
  const title = nameOf({ kind: kind.kind, namespace, name })
  const { pause: pausing } = kind.steering
  if (pausing !== undefined) return { annotation: pausing.annotation, title }
  const kinds = steeredKinds().filter(({ steering }) => steering.pause !== undefined)
  throw new UsageError(
    `${title} cannot be paused by itself, expected one of ${kinds.map((one) => one.kind).join(', ')}: pause what it is a part of`,
  )
}

function valueIn({ metadata }: KubeObject, annotation: string): string | undefined {
  const value = (metadata.annotations?.[annotation] ?? '').trim()
  return value === '' || value === 'false' ? undefined : value
}

function before(object: KubeObject, annotation: string): string {
  const value = valueIn(object, annotation) ?? NO_REASON
  return value === NO_REASON ? 'nobody said why' : value
}

function words({ kind, namespace, name }: Steered): string {
  return `${kind.kind.toLowerCase()}/${name} -n ${namespace}`
}
