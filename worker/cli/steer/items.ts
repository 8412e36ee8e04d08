// The commands `pawl retry`, which starts a job of one item, and `pawl skip`, which leaves one item out. Both set the
// same annotations that a user could set, and record user and reason. The item is named by its object, or by its name
// in an Installation or Execution.

import { Command } from 'commander'

import { groupKindText } from '../../../workflows/kit/index.ts'
import { UsageError } from '../../server/usage-error.ts'
import { splitWords } from '../query/object-name.ts'
import { isBusy, nameOf, phaseIn } from '../query/format.ts'
import { readTree, nextJobText, findRoot } from './live-tree.ts'
import {
  type CommandResult,
  runOnObject,
  type TargetObject,
  type SteerFlags,
  type Steering,
  withFlags,
} from './open-object.ts'
import { expectedItems, isItem, type ItemCommand, itemsBelow, findItems } from './item-names.ts'
import { has, otherThan } from './reconcile.ts'
import { annotate, tryEmitEvent } from './record.ts'

export function retryCommand(): Command {
  return itemCommand('retry', 'request a job of one item alone, now or after the running job')
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

function itemCommand(act: ItemCommand, description: string): Command {
  const argument = 'an item: its object, such as di/shop-db-e95b8, or what it is in and its names there: inst/shop db'
  return withFlags(
    new Command(act)
      .description(description)
      .usage('[options] <object> [item...]')
      .argument('<object-items...>', argument),
  )
}

async function steerItems(
  act: ItemCommand,
  words: readonly string[],
  flags: SteerFlags,
  each: (target: TargetObject) => Promise<CommandResult>,
): Promise<void> {
  const [object, names] = splitWords(words)
  await runOnObject(object, flags, each, async (target) => await itemsOf(target, act, names))
}

/** @throws UsageError that lists the items if the words name none. */
async function itemsOf(
  target: TargetObject,
  act: ItemCommand,
  names: readonly string[],
): Promise<readonly TargetObject[]> {
  const { kube, kind, kinds, object } = target
  const title = titleOf(target)
  if (isItem(kind, act)) {
    if (names.length === 0) return [target]
    throw new UsageError(`${title} is one item, expected no name behind it; found ${names.join(' ')}`)
  }
  const parts = itemsBelow(await readTree(kube, { kind, object }, kinds), act)
  if (names.length === 0) {
    const instead = `expected the name of an item behind it, ${expectedItems(parts)}`
    throw new UsageError(`${title} is not one item, ${instead}; see pawl ${act === 'retry' ? 'reconcile' : 'pause'}`)
  }
  return findItems(title, parts, names).map((part) => {
    const { name } = part.object.metadata
    return { ...target, kind: part.kind, object: part.object, name }
  })
}

async function retry(target: TargetObject): Promise<CommandResult> {
  const { kind, namespace, name, object, user: user } = target
  const title = titleOf(target)
  const annotations = annotationsOf(target, 'retry')
  if (object.metadata.deletionTimestamp !== undefined)
    throw new Error(`${title} is being deleted, expected one that is to stay; see pawl delete`)
  const top = await findRoot(target)
  const asked = await annotate(target, 'retry', (present) => {
    const otherValue = otherThan(present, annotations)
    if (otherValue !== undefined)
      throw new Error(`${title} has the annotation ${otherValue}, expected none: take it off first`)
    return has(present, annotations) ? undefined : annotations
  })
  if (asked === 'asked') await tryEmitEvent(target, 'RetryAskedFor', 'asked for a job of it alone')
  const when = isBusy(object) ? 'after the one that runs' : 'now, or after the job of what it is a part of'
  const line =
    asked === 'asked'
      ? `a job of ${title} alone was asked for by ${user}; it begins ${when}`
      : `a job of ${title} alone is asked for already`
  return done(target, asked, {
    lines: [line, `see how it goes: pawl why ${kind.kind.toLowerCase()}/${name} -n ${namespace}`],
    hints: [`what waits for it, and what has failed by it, goes on with ${nextJobText(top)}`],
  })
}

/** Value of the annotation without a reason. */
const NO_REASON = 'true'

async function skip(target: TargetObject): Promise<CommandResult> {
  const { object, user: user, reason: reason } = target
  const title = titleOf(target)
  const annotation = annotationsOf(target, 'skip')
  if (object.metadata.deletionTimestamp !== undefined)
    throw new Error(
      `${title} is being deleted, expected one that is to stay: a deletion leaves nothing out; see pawl delete`,
    )
  if (object.metadata.ownerReferences === undefined)
    throw new Error(`${title} is a part of nothing, expected one that others wait for`)
  const top = await findRoot(target)
  const asked = await annotate(target, 'skip', (present) =>
    isThere(present.metadata.annotations?.[annotation]) ? undefined : { [annotation]: reason ?? NO_REASON },
  )
  if (asked === 'asked') await tryEmitEvent(target, 'Skipped', 'left it out')
  return done(target, asked, {
    lines: [
      asked === 'asked' ? `${title} is left out by ${user}, until its spec changes` : `${title} is left out already`,
    ],
    hints: [`a job that runs goes on without it at once, else ${nextJobText(top)}`],
  })
}

async function unskip(target: TargetObject): Promise<CommandResult> {
  const title = titleOf(target)
  const annotation = annotationsOf(target, 'skip')
  const top = await findRoot(target)
  const asked = await annotate(target, 'skip no more', (present) =>
    present.metadata.annotations?.[annotation] === undefined ? undefined : { [annotation]: null },
  )
  if (asked !== 'asked') return done(target, asked, { lines: [`${title} is not left out`] })
  return done(target, asked, { lines: [`${title} is deployed again with ${nextJobText(top)}`] })
}

/** The annotations of this command; only kinds of items get here. */
function annotationsOf<Act extends ItemCommand>({ kind }: TargetObject, act: Act): NonNullable<Steering[Act]> {
  const annotations = kind.steering[act]
  if (annotations === undefined) throw new Error(`bug: ${kind.kind} is no part to ${act}`)
  return annotations
}

function isThere(value = ''): boolean {
  return value.trim() !== '' && value.trim() !== 'false'
}

function titleOf({ kind, namespace, name }: TargetObject): string {
  return nameOf({ kind: kind.kind, namespace, name })
}

function done(target: TargetObject, asked: string, texts: Pick<CommandResult, 'lines' | 'hints'>): CommandResult {
  const { kind, namespace, name, object, user: user, reason: reason } = target
  const { uid } = object.metadata
  const phase = phaseIn(object) ?? null
  const data = { kind: groupKindText(kind), namespace, name, uid, phase, asked, by: user, why: reason ?? null }
  return { ...texts, data }
}
