// The commands `pawl retry` and `pawl skip`: a job of one part alone, and one part left out, as the annotations do, with who and why.

import { Command } from 'commander'

import { groupKindText } from '../../../workflows/kit/index.ts'
import { UsageError } from '../../server/usage-error.ts'
import { isBusy, nameOf, phaseIn } from '../ask/texts.ts'
import { type Done, steer, type Steered, steeredKinds, type SteerFlags, withSteerFlags } from './open-object.ts'
import { has, otherThan } from './reconcile.ts'
import { annotate, tryToTell } from './record.ts'

export function retryCommand(): Command {
  return withSteerFlags(
    new Command('retry').description('ask for a job of one item alone, now or after the one that runs'),
  )
    .addHelpText(
      'after',
      "\nExamples:\n  pawl retry di/shop-db-e95b8\n  pawl retry di/shop-db-e95b8 --reason 'the disk is there'",
    )
    .action(async (words: readonly string[], flags: SteerFlags) => {
      await steer(words, flags, retry)
    })
}

interface SkipFlags extends SteerFlags {
  readonly undo?: boolean
}

export function skipCommand(): Command {
  return withSteerFlags(
    new Command('skip').description(
      'have one item counted as succeeded without being deployed, until its spec changes',
    ),
  )
    .option('--undo', 'deploy it again, from the next job on')
    .addHelpText(
      'after',
      "\nExamples:\n  pawl skip di/shop-ads-e95b8 --reason 'not in this cluster'\n  pawl skip di/shop-ads-e95b8 --undo",
    )
    .action(async (words: readonly string[], { undo = false, ...flags }: SkipFlags) => {
      await steer(words, flags, undo ? unskip : skip)
    })
}

async function retry(steered: Steered): Promise<Done> {
  const { kind, object, who } = steered
  const title = titleOf(steered)
  const wanted = kind.steering.retry
  if (wanted === undefined)
    throw new UsageError(`${title} is not one item, expected ${kindsWith('retry')}; see pawl reconcile`)
  if (object.metadata.deletionTimestamp !== undefined)
    throw new Error(`${title} is being deleted, expected one that is to stay; see pawl delete`)
  const asked = await annotate(steered, 'retry', (present) => {
    const standing = otherThan(present, wanted)
    if (standing !== undefined)
      throw new Error(`${title} has the annotation ${standing}, expected none: take it off first`)
    return has(present, wanted) ? undefined : wanted
  })
  if (asked === 'asked') await tryToTell(steered, 'RetryAskedFor', 'asked for a job of it alone')
  const when = isBusy(object) ? 'after the one that runs' : 'now, or after the job of what it is a part of'
  return done(steered, asked, [
    asked === 'asked'
      ? `a job of ${title} alone was asked for by ${who}; it begins ${when}`
      : `a job of ${title} alone is asked for already`,
    `see how it goes: pawl why ${kind.kind.toLowerCase()}/${steered.name} -n ${steered.namespace}`,
    'what waits for it goes on with the next job of what it is a part of',
  ])
}

/** The value where nobody says why. */
const NO_REASON = 'true'

async function skip(steered: Steered): Promise<Done> {
  const { object, who, why } = steered
  const { annotation, title } = skippable(steered)
  if (object.metadata.deletionTimestamp !== undefined)
    throw new Error(
      `${title} is being deleted, expected one that is to stay: a deletion leaves nothing out; see pawl delete`,
    )
  if (object.metadata.ownerReferences === undefined)
    throw new Error(`${title} is a part of nothing, expected one that others wait for`)
  const asked = await annotate(steered, 'skip', (present) =>
    isThere(present.metadata.annotations?.[annotation]) ? undefined : { [annotation]: why ?? NO_REASON },
  )
  if (asked === 'asked') await tryToTell(steered, 'Skipped', 'left it out')
  return done(steered, asked, [
    asked === 'asked' ? `${title} is left out by ${who}, until its spec changes` : `${title} is left out already`,
    'a job that runs goes on without it at once, else the next one does',
  ])
}

async function unskip(steered: Steered): Promise<Done> {
  const { annotation, title } = skippable(steered)
  const asked = await annotate(steered, 'skip no more', (present) =>
    present.metadata.annotations?.[annotation] === undefined ? undefined : { [annotation]: null },
  )
  return done(steered, asked, [
    asked === 'asked' ? `${title} is deployed again with the next job` : `${title} is not left out`,
  ])
}

function skippable(steered: Steered): { readonly annotation: string; readonly title: string } {
  const title = titleOf(steered)
  const annotation = steered.kind.steering.skip
  if (annotation === undefined)
    throw new UsageError(`${title} is not one item, expected ${kindsWith('skip')}; see pawl pause`)
  return { annotation, title }
}

function kindsWith(word: 'retry' | 'skip'): string {
  const kinds = steeredKinds().filter(({ steering }) => steering[word] !== undefined)
  return `one of ${kinds.map(({ kind }) => kind).join(', ')}`
}

function isThere(value = ''): boolean {
  return value.trim() !== '' && value.trim() !== 'false'
}

function titleOf({ kind, namespace, name }: Steered): string {
  return nameOf({ kind: kind.kind, namespace, name })
}

function done(steered: Steered, asked: string, lines: readonly string[]): Done {
  const { kind, namespace, name, object, who, why } = steered
  const { uid } = object.metadata
  const phase = phaseIn(object) ?? null
  return { lines, data: { kind: groupKindText(kind), namespace, name, uid, phase, asked, by: who, why: why ?? null } }
}
