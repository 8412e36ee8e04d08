// The command `pawl why`: what led to the job of an object, and what it waits for.

import type { Command } from 'commander'

import type { ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import { groupKindOf, groupKindText, writeJson } from '../../../workflows/kit/index.ts'
import { readConfig } from '../../server/config.ts'
import { builtInRegistry } from '../../server/registry.ts'
import { readLive, type HandWrite, handWriteAt } from '../live-objects.ts'
import { asPerson, type PersonFlags } from '../user.ts'
import { type PageFlags, runPage, UI_OPTION } from '../temporal-address.ts'
import { errorAbove, keyOf, pathToBottom, reasonsOf, type Surroundings } from './root-cause.ts'
import { pauseTold, readTurns, turnTold, unbegunTold } from './waiting.ts'
import { actionName, type Cause, readCauses } from './causes.ts'
import { findJob } from './find-object.ts'
import { isOpen, type JobNode, readJobTree } from './job-tree.ts'
import { JOB_OPTION, objectCommand } from './object-command.ts'
import type { Asked } from './open-journal.ts'
import { storyText, tellWhy } from './why-text.ts'
import { deletionIn, nameOf } from './format.ts'

interface WhyFlags extends PersonFlags, PageFlags {
  readonly job?: string
  readonly output: 'text' | 'json'
}

export function whyCommand(): Command {
  return objectCommand({
    name: 'why',
    description: 'tell what led to the job of an object, what it did, and what it waits for',
    options: (command) => command.option(...JOB_OPTION).option(...UI_OPTION),
    formats: ['text', 'json'],
    examples: ['pawl why inst/shop', 'pawl why di shop-db-e95b8 -n team-a'],
    answer: why,
  })
}

async function why(asked: Asked, words: readonly string[], flags: WhyFlags): Promise<string> {
  const { job: jobID, output } = flags
  const { object, job } = await findJob(asked, words, jobID)
  const path = pathToBottom(await readJobTree(asked, object, job))
  const bottom = path.at(-1)
  const events = await asked.eventsOf(object.uid, 1)
  const isHosted = job?.cause === 'hosted'
  const run = job === undefined || isHosted ? undefined : await asked.runOf(job.workflowID)
  const causes = await readCauses(asked, object, job)
  const chapters = tellWhy({
    causes,
    byHand: await handWrites(causes, flags),
    // A run that hosts many writes for all of them: of a hosted object only what was written to it.
    writes: job === undefined ? [] : await asked.writesOf(job.workflowID, isHosted ? actionName(object) : undefined),
    passes: run?.passes,
    page: await runPage(flags, run),
    newest: events.at(-1),
    path,
    now: new Date(),
    turns: [
      ...path.flatMap((node) => pauseTold(node.object)),
      ...(await turnsOf(asked, path)),
      ...(job === undefined ? [] : unbegunTold(object, job, run)),
    ],
    reasons:
      bottom === undefined
        ? []
        : [
            ...reasonsOf(bottom, await around(asked, bottom, errorAbove(path))),
            ...(await deletionEvents(bottom.object, flags)),
          ],
  })
  return output === 'json' ? `${writeJson(chapters, 2)}\n` : storyText(chapters)
}

/** With the rights of the person: the journal has no field managers. */
async function handWrites(causes: readonly Cause[], flags: PersonFlags): Promise<ReadonlyMap<string, HandWrite>> {
  const apis = new Map(
    [...builtInRegistry.controllers.values()].map(({ target }) => [groupKindText(groupKindOf(target)), target]),
  )
  const foreign = causes.flatMap(({ object, trigger }) => {
    const api = apis.get(groupKindText(object))
    const isByHand = trigger?.writer === null && trigger.source === 'watch' && trigger.type !== 'DELETED'
    return api === undefined || !isByHand ? [] : [{ ...api, ...object, at: trigger.at }]
  })
  const live = await readLive(foreign, flags, readConfig())
  for (const problem of live.problems) process.stderr.write(`pawl: who wrote beside Pawl is not told: ${problem}\n`)
  return new Map(
    foreign.flatMap(({ uid, at }) => {
      const object = live.objects.get(uid)
      const found = object && handWriteAt(object.metadata, at)
      return found === undefined ? [] : [[uid, found]]
    }),
  )
}

const MAX_EVENTS = 2

/** The newest Events of an object that is being deleted: its controllers explain there what the deletion waits for. */
async function deletionEvents(object: ObjectRecord, flags: PersonFlags): Promise<readonly string[]> {
  if (object.deleted || deletionIn(object.projection) === undefined) return []
  try {
    // Most answers need no Events.
    const { newestEvents } = await import('../live-objects.ts')
    return await asPerson(flags, async (kube) => {
      const events = await newestEvents(kube, object, MAX_EVENTS)
      return events.map((event) => `Event ${event}`)
    })
  } catch (error) {
    process.stderr.write(`pawl: Events of ${nameOf(object)} cannot be read: ${String(error)}\n`)
    return []
  }
}

async function turnsOf(asked: Asked, path: readonly JobNode[]): Promise<readonly string[]> {
  const turns = await readTurns(asked, path)
  return path.flatMap(({ object }) => {
    const turn = turns.get(object.uid)
    return turn === undefined ? [] : [turnTold(object, turn)]
  })
}

const MOST_LOOKED_FOR = 20

async function around(asked: Asked, node: JobNode, above: string | undefined): Promise<Surroundings> {
  const { job, awaited, object } = node
  const there = new Set<string>()
  for (const one of awaited.slice(0, MOST_LOOKED_FOR)) {
    const [first] = await asked.objectsNamed(one)
    if (first !== undefined && !first.deleted) there.add(keyOf(one))
  }
  if (job === undefined || !isOpen(node)) return { there, wake: undefined, attempt: 0, above }
  const wake = await asked.wakeOf(job.controller, object.uid)
  const run = await asked.runOf(job.workflowID)
  return {
    there,
    wake: wake === undefined ? undefined : `${wake.due.toISOString()} (${wake.cause})`,
    attempt: run?.attempt ?? 0,
    above,
  }
}
