// `pawl plan -f`: reads, rehearses, tells.

import { type Journal, openReader } from '../../../activities/journal/read/reader.ts'
import { readYaml } from '../../../activities/yaml/read-yaml.ts'
import { writeYaml } from '../../../activities/yaml/write-yaml.ts'
import { type DryRunJob, writeJson } from '../../../workflows/kit/index.ts'
import { readConfig } from '../../server/config.ts'
import { type AskFlags, failureText, journalURL } from '../query/open-journal.ts'
import { coloured, plain, isGood } from '../query/format.ts'
import { namespaceOf } from '../kubeconfig.ts'
import { openPerson } from '../user.ts'
import { secretTexts } from './object-changes.ts'
import { readDocuments } from './documents.ts'
import { rehearse } from './preview.ts'
import { drawnPlan, exitCodeOf, toldPlan } from './plan-text.ts'
import { jobsOf, objectsNamed } from '../../../activities/journal/read/object-queries.ts'

export interface PlanFilesFlags extends AskFlags {
  readonly filename: readonly string[]
  readonly output: 'text' | 'json' | 'yaml'
  readonly targetAllow?: string
  readonly registryLocal?: string
}

export async function planFiles(flags: PlanFilesFlags): Promise<void> {
  const config = readConfig()
  const documents = await readDocuments(flags.filename)
  const namespace = await namespaceOf(flags, config)
  const kube = await openPerson(flags, config)
  try {
    const { targetAllow, registryLocal } = flags
    const given = {
      ...(targetAllow !== undefined && { 'target-allow': targetAllow }),
      ...(registryLocal !== undefined && { 'registry-local': registryLocal }),
    }
    const found = await rehearse(kube, documents, { namespace, given })
    const expected = await durationsOf(flags, found.jobs)
    const plan = toldPlan(found, secretTexts(found.secrets, parsed), expected ?? new Map())
    const paint = process.stdout.isTTY && process.stdout.hasColors() ? coloured : plain
    const told = {
      text: () => drawnPlan(plan, { paint, hasJournal: expected !== undefined }),
      json: () => `${writeJson(plan, 2)}\n`,
      yaml: () => writeYaml(plan),
    }
    await print(told[flags.output]())
    process.exitCode = exitCodeOf(plan)
  } finally {
    await kube.close()
  }
}

/** All of it: the process ends as soon as its command does, and much takes a while on a socket. */
async function print(text: string): Promise<void> {
  await new Promise<void>((resolve) => {
    process.stdout.write(text, () => {
      resolve()
    })
  })
}

function parsed(text: string): unknown {
  try {
    return readYaml(text)
  } catch {
    return undefined
  }
}

/** Undefined: there is no journal, which is no mistake, or it does not answer, which is said. */
async function durationsOf(
  flags: AskFlags,
  jobs: readonly DryRunJob[],
): Promise<ReadonlyMap<string, number> | undefined> {
  const url = await journalURL(flags, readConfig()).catch(() => undefined)
  if (url === undefined) return undefined
  const journal: Journal = { db: openReader(url), cluster: flags.cluster }
  try {
    const found = new Map<string, number>()
    const all = jobs.flatMap(withSubs).slice(0, MOST_ASKED)
    for (const { subject } of all) {
      const { group = '', kind, namespace, name } = subject
      const ms = await expectedMs(journal, { group, kind, namespace, name })
      if (ms !== undefined) found.set(`${namespace}/${name}`, ms)
    }
    return found
  } catch (error) {
    process.stderr.write(`pawl: the journal does not answer: ${failureText(error)}; the plan has no durations\n`)
    return undefined
  } finally {
    await journal.db.destroy()
  }
}

const MOST_ASKED = 100

function withSubs(job: DryRunJob): readonly DryRunJob[] {
  return [job, ...job.jobs.flatMap(withSubs)]
}

// How long jobs took that ended well, by the journal: what the next one may take.

const LATEST = 5

/** The middle one of the latest that ended well, in milliseconds; undefined where there was none. */
async function expectedMs(
  journal: Journal,
  of: { readonly group: string; readonly kind: string; readonly namespace: string; readonly name: string },
): Promise<number | undefined> {
  const [object] = await objectsNamed(journal, of)
  if (object === undefined) return undefined
  const jobs = await jobsOf(journal, object.uid)
  return middle(
    jobs
      .filter(({ phase, finishedAt }) => isGood(phase ?? undefined) && finishedAt !== null)
      .slice(0, LATEST)
      .map(({ startedAt, finishedAt }) => (finishedAt?.getTime() ?? 0) - startedAt.getTime()),
  )
}

export function middle(values: readonly number[]): number | undefined {
  return [...values].sort((left, right) => left - right)[Math.floor((values.length - 1) / 2)]
}
