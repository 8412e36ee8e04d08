// The commands `pawl retry` and `pawl skip`: a job of one item alone, and one item left out, as the annotations do, with who and why. An item is meant by
// its object, or by the name that it has in an Installation or Execution.

import { Command } from 'commander'

import { groupKindText } from '../../../workflows/kit/index.ts'
import { UsageError } from '../../server/usage-error.ts'
import { splitWords } from '../query/object-name.ts'
import { isBusy, nameOf, phaseIn } from '../query/format.ts'
import { readTree, nextJobText, topOf } from './live-tree.ts'
import { type Done, steer, type Steered, type SteerFlags, type Steering, withFlags } from './open-object.ts'
import { expected, isPart, type PartAct, partsBelow, partsNamed } from './item-names.ts'
import { has, otherThan } from './reconcile.ts'
import { annotate, tryToTell } from './record.ts'

export function retryCommand(): Command {
  return itemCommand('retry', 'ask for a job of one item alone, now or after the one that runs')
    .addHelpText(
      'after',
      "\nExamples:\n  pawl retry inst/shop db\n  pawl retry inst/shop db cache --reason 'the disk is there'\n  pawl retry di/shop-db-e95b8",
    )
    .action(async (words: readonly string[], flags: SteerFlags) => {
      await steerItems('retry', words, flags, retry)
    })
}

interface SkipFlags extends SteerFlags {
  readonly undo?: boolean
}

export function skipCommand(): Command {
  return itemCommand('skip', 'have one item counted as succeeded without being deployed, until its spec changes')
    .option('--undo', 'deploy it again, from the next job on')
    .addHelpText(
      'after',
      "\nExamples:\n  pawl skip inst/shop ads --reason 'not in this cluster'\n  pawl skip inst/shop ads --undo\n  pawl skip di/shop-ads-e95b8",
    )
    .action(async (words: readonly string[], { undo = false, ...flags }: SkipFlags) => {
      await steerItems('skip', words, flags, undo ? unskip : skip)
    })
}

function itemCommand(act: PartAct, description: string): Command {
  const argument = 'an item: its object, such as di/shop-db-e95b8, or what it is in and its names there: inst/shop db'
  return withFlags(
    new Command(act)
      .description(description)
      .usage('[options] <object> [item...]')
      .argument('<object-items...>', argument),
  )
}

async function steerItems(
  act: PartAct,
  words: readonly string[],
  flags: SteerFlags,
  each: (steered: Steered) => Promise<Done>,
): Promise<void> {
  const [object, names] = splitWords(words)
  await steer(object, flags, each, async (steered) => await itemsOf(steered, act, names))
}

/** @throws UsageError where the words say of no item that it is meant; with those that there are. */
async function itemsOf(steered: Steered, act: PartAct, names: readonly string[]): Promise<readonly Steered[]> {
  const { kube, kind, kinds, object } = steered
  const title = titleOf(steered)
  if (isPart(kind, act)) {
    if (names.length === 0) return [steered]
    throw new UsageError(`${title} is one item, expected no name behind it; found ${names.join(' ')}`)
  }
  const parts = partsBelow(await readTree(kube, { kind, object }, kinds), act)
  if (names.length === 0) {
    const instead = `expected the name of an item behind it, ${expected(parts)}`
    throw new UsageError(`${title} is not one item, ${instead}; see pawl ${act === 'retry' ? 'reconcile' : 'pause'}`)
  }
  return partsNamed(title, parts, names).map((part) => {
    const { name } = part.object.metadata
    return { ...steered, kind: part.kind, object: part.object, name }
  })
}

async function retry(steered: Steered): Promise<Done> {
  const { kind, namespace, name, object, who } = steered
  const title = titleOf(steered)
  const wanted = annotationsOf(steered, 'retry')
  if (object.metadata.deletionTimestamp !== undefined)
    throw new Error(`${title} is being deleted, expected one that is to stay; see pawl delete`)
  const top = await topOf(steered)
  const asked = await annotate(steered, 'retry', (present) => {
    const standing = otherThan(present, wanted)
    if (standing !== undefined)
      throw new Error(`${title} has the annotation ${standing}, expected none: take it off first`)
    return has(present, wanted) ? undefined : wanted
  })
  if (asked === 'asked') await tryToTell(steered, 'RetryAskedFor', 'asked for a job of it alone')
  const when = isBusy(object) ? 'after the one that runs' : 'now, or after the job of what it is a part of'
  const line =
    asked === 'asked'
      ? `a job of ${title} alone was asked for by ${who}; it begins ${when}`
      : `a job of ${title} alone is asked for already`
  return done(steered, asked, {
    lines: [line, `see how it goes: pawl why ${kind.kind.toLowerCase()}/${name} -n ${namespace}`],
    hints: [`what waits for it, and what has failed by it, goes on with ${nextJobText(top)}`],
  })
}

/** The value where nobody says why. */
const NO_REASON = 'true'

async function skip(steered: Steered): Promise<Done> {
  const { object, who, why } = steered
  const title = titleOf(steered)
  const annotation = annotationsOf(steered, 'skip')
  if (object.metadata.deletionTimestamp !== undefined)
    throw new Error(
      `${title} is being deleted, expected one that is to stay: a deletion leaves nothing out; see pawl delete`,
    )
  if (object.metadata.ownerReferences === undefined)
    throw new Error(`${title} is a part of nothing, expected one that others wait for`)
  const top = await topOf(steered)
  const asked = await annotate(steered, 'skip', (present) =>
    isThere(present.metadata.annotations?.[annotation]) ? undefined : { [annotation]: why ?? NO_REASON },
  )
  if (asked === 'asked') await tryToTell(steered, 'Skipped', 'left it out')
  return done(steered, asked, {
    lines: [
      asked === 'asked' ? `${title} is left out by ${who}, until its spec changes` : `${title} is left out already`,
    ],
    hints: [`a job that runs goes on without it at once, else ${nextJobText(top)}`],
  })
}

async function unskip(steered: Steered): Promise<Done> {
  const title = titleOf(steered)
  const annotation = annotationsOf(steered, 'skip')
  const top = await topOf(steered)
  const asked = await annotate(steered, 'skip no more', (present) =>
    present.metadata.annotations?.[annotation] === undefined ? undefined : { [annotation]: null },
  )
  if (asked !== 'asked') return done(steered, asked, { lines: [`${title} is not left out`] })
  return done(steered, asked, { lines: [`${title} is deployed again with ${nextJobText(top)}`] })
}

/** What says it on the object. Only parts get here. */
function annotationsOf<Act extends PartAct>({ kind }: Steered, act: Act): NonNullable<Steering[Act]> {
  const wanted = kind.steering[act]
  if (wanted === undefined) throw new Error(`bug: ${kind.kind} is no part to ${act}`)
  return wanted
}

function isThere(value = ''): boolean {
  return value.trim() !== '' && value.trim() !== 'false'
}

function titleOf({ kind, namespace, name }: Steered): string {
  return nameOf({ kind: kind.kind, namespace, name })
}

function done(steered: Steered, asked: string, told: Pick<Done, 'lines' | 'hints'>): Done {
  const { kind, namespace, name, object, who, why } = steered
  const { uid } = object.metadata
  const phase = phaseIn(object) ?? null
  const data = { kind: groupKindText(kind), namespace, name, uid, phase, asked, by: who, why: why ?? null }
  return { ...told, data }
}
