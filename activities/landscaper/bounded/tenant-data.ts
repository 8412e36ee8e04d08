// Reading what tenants wrote, and looking for values in their objects: on the event loop when it is known beforehand to be cheap, else in a thread.
//
//   T1. Neither the loop nor another namespace waits for it, it ends in bounded time and memory, and when nobody waits for it any more.

import { writeJson } from '../../../workflows/kit/index.ts'
import { extname } from 'node:path'
import type { Problem } from '../../../workflows/kit/index.ts'
import { BlueprintError } from '../render/blueprint-error.ts'
import { unpackArchive } from '../render/blueprint-archive.ts'
import type { BlueprintDefinition } from '../render/blueprint-definition.ts'
import type { BlueprintFiles } from '../render/blueprint-files.ts'
import type { KubeObject } from '../../kube/client.ts'
import { YamlError, YamlSyntaxError } from '../../yaml/read-yaml.ts'
import { type DecodedItems, unpackedItems, unreadable } from './packed-items.ts'
import type { JsonPath } from '../deploy/objects/json-path.ts'
import type { Requirement } from '../deploy/objects/readiness/requirement.ts'
import { ThreadEnded, startThread } from './bounded-thread.ts'
import {
  definitionOf,
  documentValue,
  type DocumentValue,
  type FoundValues,
  foundValues,
  lackOf,
  yamlValue,
} from './data-answers.ts'
import type { DataFault, DataQuestion, DataReply, YamlFault } from './data-questions.ts'
import { CHEAP_FOUND, CHEAP_UNPACKED_BYTES, countNodes, MOST_EFFORT, packedEffort, yamlEffort } from './effort.ts'
import { packedProblem } from './further-problems.ts'
import { LoopShare } from './loop-share.ts'
import { createThreadPool, type Customer } from './thread-pool.ts'

export interface TenantData {
  /** The value of a YAML text. @param place where it stands, for reports about it. @throws YamlError */
  yaml(text: string, place?: string): Promise<unknown>
  /** The value of a YAML text of a Target, or in words what is wrong with it. */
  document(text: string): Promise<DocumentValue>
  /** What a blueprint.yaml says; `json`: as which Go reads the text. @throws BlueprintError */
  definition(text: string, json?: string): Promise<BlueprintDefinition>
  /** The files of a blueprint in a tar archive, gzipped or not. @throws BlueprintError in words that go on "NAME: " */
  archive(packed: Buffer): Promise<BlueprintFiles>
  /** The items of an Execution in their packed form, or why they cannot be read. */
  items(packed: string): Promise<DecodedItems>
  /** What is wrong with the items of an Execution in their packed form, by the rules of admission. */
  packedProblems(packed: string): Promise<readonly Problem[]>
  /** The same of the blueprint of an Installation; nothing where it takes too long to say. */
  blueprintProblems(blueprint: unknown): Promise<readonly Problem[]>
  /** For each path what it finds in the object. */
  values(object: unknown, paths: readonly JsonPath[]): Promise<readonly FoundValues[]>
  /** What the object lacks, in words; undefined = all requirements hold. */
  unsatisfied(object: KubeObject, requirements: readonly Requirement[]): Promise<string | undefined>
}

export interface DataReader {
  /** For one customer's data. */
  of(customer: Customer): TenantData
  /** Stops all threads; work in flight fails, later work is refused. */
  close(): Promise<void>
}

/** Why there is no answer: what was asked takes more time or memory than it may have. */
class TooMuch extends Error {}

const WORKER_FILE = new URL(`./data-worker${extname(import.meta.filename)}`, import.meta.url)
const SPARE_THREADS = 3
/** What the longest text of YAML needs that may be read, and twice what it is as a tree of values. */
const HEAP_LIMIT_MIB = 256

/** @param timeoutMs for one question, waiting for a free thread not counted. */
export function createDataReader({ timeoutMs = 5000 }: { readonly timeoutMs?: number } = {}): DataReader {
  const threads = createThreadPool('data reader', { kept: 1, spare: SPARE_THREADS })
  const loop = new LoopShare()

  async function inThread(question: DataQuestion, customer: Customer): Promise<unknown> {
    const text = textOf(question)
    const reply = await threads.use(
      () => startThread(WORKER_FILE, undefined, HEAP_LIMIT_MIB),
      async (thread) => ({
        answer: (await orTooMuch(thread.run(text, timeoutMs), timeoutMs)) as DataReply,
        worn: thread.isSlow,
      }),
      customer,
    )
    if ('answer' in reply) return reply.answer
    throw errorOf(reply.fault)
  }

  return {
    of: (customer) =>
      dataBy({
        ask: (question) => inThread(question, customer),
        orOnLoop: (effort, onLoop, inThread) => whereCheap(loop, effort, { onLoop, inThread }),
      }),
    close: () => threads.close(),
  }
}

interface Ways {
  readonly ask: (question: DataQuestion) => Promise<unknown>
  /** What is undefined on the loop had said that it was less, and is asked of the thread. */
  readonly orOnLoop: <T>(effort: number, onLoop: () => T | undefined, inThread: () => Promise<unknown>) => Promise<T>
}

function dataBy({ ask, orOnLoop }: Ways): TenantData {
  return {
    yaml: (text) =>
      orOnLoop(
        yamlEffort(text),
        () => yamlValue(text),
        () => orSay(ask({ ask: 'yaml', text }), tooMuchYaml),
      ),
    document: (text) =>
      orOnLoop(
        yamlEffort(text),
        () => documentValue(text),
        () => orSay(ask({ ask: 'document', text }), (why) => ({ problem: `a text that is ${why}` })),
      ),
    definition: (text, json) =>
      orOnLoop(
        yamlEffort(text) + (json === undefined ? 0 : yamlEffort(json)),
        () => definitionOf(text, json),
        () => orSay(ask({ ask: 'definition', text, ...(json !== undefined && { json }) }), tooMuchBlueprint),
      ),
    items: (packed) =>
      orOnLoop(
        packedEffort(packed),
        () => unpackedItems(packed, CHEAP_UNPACKED_BYTES),
        () => orSay(ask({ ask: 'items', packed }), unreadable),
      ),
    archive: (packed) => {
      const text = packed.toString('base64')
      return orOnLoop(
        packedEffort(text),
        () => unpackArchive(packed, CHEAP_UNPACKED_BYTES),
        () => orSay(ask({ ask: 'archive', packed: text }), tooMuchArchive),
      )
    },
    packedProblems: async (packed) =>
      (await orSay(ask({ ask: 'packedProblems', packed }), (why) => [packedProblem(why)])) as readonly Problem[],
    blueprintProblems: async (blueprint) =>
      (await orSay(ask({ ask: 'blueprintProblems', blueprint }), () => [])) as readonly Problem[],
    values: (object, paths) =>
      orOnLoop(
        pathsEffort(object, paths) + CHEAP_FOUND.nodes,
        () => foundValues(object, paths, CHEAP_FOUND),
        () =>
          orSay(ask({ ask: 'values', object, paths: paths.map((path) => path.text) }), (why) =>
            paths.map(() => ({ problem: `one of those that are ${why}` })),
          ),
      ),
    unsatisfied: async (object, requirements) => {
      const lack = await orOnLoop(
        requirementsEffort(object, requirements),
        () => ({ lack: lackOf(object, requirements) }),
        async () => ({ lack: await orSay(ask(requirementsQuestion(object, requirements)), tooMuchRequired) }),
      )
      return lack.lack
    },
  }
}

async function whereCheap<T>(
  loop: LoopShare,
  effort: number,
  { onLoop, inThread }: { readonly onLoop: () => T | undefined; readonly inThread: () => Promise<unknown> },
): Promise<T> {
  if (effort > MOST_EFFORT) return (await inThread()) as T
  await loop.take(effort)
  const answer = onLoop()
  return answer === undefined ? ((await inThread()) as T) : answer
}

/** More nodes than that, and no path but a plain one is cheap. */
const MOST_NODES = 20_000

function pathsEffort(object: unknown, paths: readonly JsonPath[]): number {
  const perLook = paths.reduce((sum, { cost }) => sum + cost.perLook, 0)
  const perNode = paths.reduce((sum, { cost }) => sum + cost.perNode, 0)
  return perNode === 0 ? perLook : perLook + perNode * countNodes(object, MOST_NODES)
}

// Each value that is found is held against each that is wanted: key by key where both are maps or lists.
function requirementsEffort(object: unknown, requirements: readonly Requirement[]): number {
  const wanted = countNodes(
    requirements.map(({ values }) => values),
    MOST_NODES,
  )
  const most = Math.max(1, wanted - requirements.length)
  const following = pathsEffort(
    object,
    requirements.map(({ path }) => path),
  )
  return most * (following + (requirements.some(hasNested) ? comparingEffort(object) : 0))
}

function hasNested({ values }: Requirement): boolean {
  return values.some((value) => typeof value === 'object' && value !== null)
}

// Of a map all keys are listed first, however few are wanted.
function comparingEffort(object: unknown): number {
  const nodes = countNodes(object, MOST_NODES)
  return nodes < MOST_NODES ? nodes : Infinity
}

function textOf(question: DataQuestion): string {
  try {
    return writeJson(question)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new TooMuch('nested too deeply')
  }
}

async function orTooMuch<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof ThreadEnded) || error.reason === 'crash') throw error
    throw new TooMuch(error.reason === 'timeout' ? `not read within ${timeoutMs} ms` : 'more than there is memory for')
  }
}

function errorOf(fault: DataFault): Error {
  if (fault.of === 'yaml') return yamlErrorOf(fault)
  const { code, message, cause } = fault
  return new BlueprintError(code, message, cause === undefined ? undefined : { cause: yamlErrorOf(cause) })
}

function yamlErrorOf({ line, column, reason, message, ofSyntax }: YamlFault): YamlError {
  return new (ofSyntax ? YamlSyntaxError : YamlError)({ line, col: column }, reason, message)
}

/** What is said instead of an answer when there is too much to do. */
async function orSay(work: Promise<unknown>, say: (why: string) => unknown): Promise<unknown> {
  try {
    return await work
  } catch (error) {
    if (error instanceof TooMuch) return say(error.message)
    throw error
  }
}

function tooMuchRequired(why: string): string {
  return `its requirements are ${why}`
}

function tooMuchYaml(why: string): never {
  throw new YamlError({ line: 1, col: 1 }, `${why}, expected less text`)
}

function tooMuchBlueprint(why: string): never {
  throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', `blueprint.yaml: ${why}, expected less text`)
}

function tooMuchArchive(why: string): never {
  throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', `${why}, expected a smaller archive`)
}

function requirementsQuestion(object: KubeObject, requirements: readonly Requirement[]): DataQuestion {
  const asked = requirements.map(({ pathText, operator, values }) => ({ pathText, operator, values }))
  return { ask: 'unsatisfied', object, requirements: asked }
}
