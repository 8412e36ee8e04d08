// The commands `pawl retry`, which starts a job of one item, and `pawl skip`, which leaves one item out. Both set the
// same annotations that a user could set, and record user and reason. The item is named by its object, or by its name
// in an Installation or Execution.

import { Command } from 'commander'

import { groupKindText } from '../../../workflows/kit/index.ts'
import { UsageError } from '../../server/usage-error.ts'
import { suggestedCommand } from '../suggestion.ts'
import { splitWords } from '../query/object-name.ts'
import { isBusy, phaseIn } from '../query/format.ts'
import { readTree, nextJobText, findRoot } from './live-tree.ts'
import {
  objectWords,
  titleOf,
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
  return itemCommand('retry', 'start a job of one item alone, now or after the running job')
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
  return itemCommand('skip', 'count one item as succeeded without deploying it, until its spec changes')
    .option('--undo', 'deploy the item again, from the next job on')
    .addHelpText(
      'after',
      "\nExamples:\n  pawl skip inst/shop ads --reason 'not in this cluster'\n  pawl skip inst/shop ads --undo\n  pawl skip di/shop-ads-e95b8",
    )
    .action(async (words: readonly string[], { undo = false, ...flags }: SkipFlags) => {
      await steerItems('skip', words, flags, undo ? unskip : skip)
    })
}

function itemCommand(act: ItemCommand, description: string): Command {
  const argument = 'the item: its object, such as di/shop-db-e95b8, or its parent and its names: inst/shop db cache'
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
    throw new UsageError(`${title} is one item; remove the names "${names.join(' ')}" after it`)
  }
  const parts = itemsBelow(await readTree(kube, { kind, object }, kinds), act)
  if (names.length === 0) {
    const all = suggestedCommand(`${act === 'retry' ? 'reconcile' : 'pause'} ${objectWords(target)}`)
    throw new UsageError(`${title} is not an item; add the name of an item (${expectedItems(parts)}), or use ${all}`)
  }
  return findItems(title, parts, names).map((part) => {
    const { name } = part.object.metadata
    return { ...target, kind: part.kind, object: part.object, name }
  })
}

async function retry(target: TargetObject): Promise<CommandResult> {
  const { object, user } = target
  const title = titleOf(target)
  const annotations = annotationsOf(target, 'retry')
  if (object.metadata.deletionTimestamp !== undefined)
    throw new Error(`${title} is in deletion; see ${suggestedCommand(`delete ${objectWords(target)}`)}`)
  const top = await findRoot(target)
  const asked = await annotate(target, 'retry', (present) => {
    const otherValue = otherThan(present, annotations)
    if (otherValue !== undefined)
      throw new Error(`${title} has the annotation ${otherValue}; remove the annotation first`)
    return has(present, annotations) ? undefined : annotations
  })
  if (asked === 'asked') await tryEmitEvent(target, 'RetryAskedFor', 'requested a job of this item alone')
  const when = isBusy(object) ? 'after the running job' : 'now, or after the running job of its parent'
  const line =
    asked === 'asked'
      ? `${title}: ${user} requested a job of this item alone; it starts ${when}`
      : `${title}: a job of this item alone is already requested`
  return done(target, asked, {
    lines: [line, `follow it: ${suggestedCommand(`why ${objectWords(target)}`)}`],
    hints: [`items that depend on it continue with ${nextJobText(top)}`],
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
      `${title} is in deletion, which skips no item; see ${suggestedCommand(`delete ${objectWords(target)}`)}`,
    )
  if (object.metadata.ownerReferences === undefined)
    throw new Error(
      `${title} has no parent, so no other item waits for it; skip an item of an Installation or Execution`,
    )
  const top = await findRoot(target)
  const asked = await annotate(target, 'skip', (present) =>
    isThere(present.metadata.annotations?.[annotation]) ? undefined : { [annotation]: reason ?? NO_REASON },
  )
  if (asked === 'asked') await tryEmitEvent(target, 'Skipped', 'skipped this item')
  return done(target, asked, {
    lines: [
      asked === 'asked'
        ? `${title} is skipped until its spec changes, requested by ${user}`
        : `${title} is already skipped`,
    ],
    hints: [`a running job continues without it at once, else ${nextJobText(top)}`],
  })
}

async function unskip(target: TargetObject): Promise<CommandResult> {
  const title = titleOf(target)
  const annotation = annotationsOf(target, 'skip')
  const top = await findRoot(target)
  const asked = await annotate(target, 'skip no more', (present) =>
    present.metadata.annotations?.[annotation] === undefined ? undefined : { [annotation]: null },
  )
  if (asked !== 'asked') return done(target, asked, { lines: [`${title} is not skipped`] })
  return done(target, asked, { lines: [`${title} will be deployed again with ${nextJobText(top)}`] })
}

/** The annotations of this command; only kinds of items get here. */
function annotationsOf<Act extends ItemCommand>({ kind }: TargetObject, act: Act): NonNullable<Steering[Act]> {
  const annotations = kind.steering[act]
  if (annotations === undefined) throw new Error(`bug: kind "${kind.kind}" has no annotation for ${act}`)
  return annotations
}

function isThere(value = ''): boolean {
  return value.trim() !== '' && value.trim() !== 'false'
}

function done(target: TargetObject, asked: string, texts: Pick<CommandResult, 'lines' | 'hints'>): CommandResult {
  const { kind, namespace, name, object, user: user, reason: reason } = target
  const { uid } = object.metadata
  const phase = phaseIn(object) ?? null
  const data = { kind: groupKindText(kind), namespace, name, uid, phase, asked, by: user, why: reason ?? null }
  return { ...texts, data }
}
