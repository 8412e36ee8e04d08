// Parses tenants' data and evaluates JSON paths on their objects: on the event loop if the estimated cost is low, otherwise in a data thread.
//
//   T1. Parsing blocks neither the event loop nor the work of other namespaces. It ends within limits for time and memory, and when the caller's
//       signal is aborted.

import { type Problem, writeJson } from '../../../workflows/kit/index.ts'
import { extname } from 'node:path'
import { BlueprintError } from '../render/render-errors.ts'
import { unpackArchive, type BlueprintFiles } from '../render/blueprint/blueprint-files.ts'
import type { BlueprintDefinition } from '../render/blueprint/blueprint-definition.ts'
import type { KubeObject } from '../../kube/client.ts'
import { readYaml, YamlError, YamlSyntaxError } from '../../yaml/read-yaml.ts'
import { compressedItemsProblem, type DecodedItems, decompressItems, unreadableItems } from './compressed-items.ts'
import type { JsonPath } from '../deploy/objects/json-path.ts'
import { type Requirement, unsatisfied } from '../deploy/objects/readiness/custom-checks.ts'
import { ThreadEnded, startThread } from './bounded-thread.ts'
import { type PathResult, evaluatePaths } from './path-values.ts'
import { readDefinition } from '../render/blueprint/blueprint-definition.ts'
import { readYamlDocument } from '../deploy/target/yaml-document.ts'
import type { DataFault, DataReply, DataRequest, YamlFault } from './data-worker.ts'
import {
  countNodes,
  decompressionCost,
  EventLoopBudget,
  INLINE_RESULT_LIMIT,
  MAX_INLINE_BYTES,
  MAX_INLINE_COST,
  yamlCost,
} from './cost-estimate.ts'
import { createThreadPool, type Tenant } from './thread-pool.ts'

type DocumentValue = ReturnType<typeof readYamlDocument>

export interface TenantData {
  /** The value of a YAML text. @param place where the text is in the object, for reports. @throws YamlError */
  yaml(text: string, place?: string): Promise<unknown>
  /** The value of a YAML text of a Target, or the problem in words. */
  document(text: string): Promise<DocumentValue>
  /** The definition in a blueprint.yaml; `json`: the JSON that Go's parser makes of the text. @throws BlueprintError */
  definition(text: string, json?: string): Promise<BlueprintDefinition>
  /** The files of a blueprint in a tar archive, gzipped or not. @throws BlueprintError whose message continues "NAME: " */
  archive(packed: Buffer): Promise<BlueprintFiles>
  /** The items of an Execution from their compressed form, or the reason why they cannot be read. */
  items(packed: string): Promise<DecodedItems>
  /** The problems that the admission rules find in the compressed items of an Execution. */
  packedProblems(packed: string): Promise<readonly Problem[]>
  /** The problems that the admission rules find in the blueprint of an Installation; empty if the check takes too long. */
  blueprintProblems(blueprint: unknown): Promise<readonly Problem[]>
  /** The values that each path selects in the object. */
  values(object: unknown, paths: readonly JsonPath[]): Promise<readonly PathResult[]>
  /** The first requirement that the object does not satisfy, in words; undefined if it satisfies all. */
  unsatisfied(object: KubeObject, requirements: readonly Requirement[]): Promise<string | undefined>
}

export interface DataReader {
  /** A reader for the data of one tenant. */
  of(tenant: Tenant): TenantData
  /** Stops all threads; work in progress fails, later work is refused. */
  close(): Promise<void>
}

/** The request exceeds the limit for time or memory. */
class LimitExceeded extends Error {}

const WORKER_FILE = new URL(`./data-worker${extname(import.meta.filename)}`, import.meta.url)
const SPARE_THREADS = 3
/** Memory for the longest YAML text that may be read, and twice its tree of values. */
const HEAP_LIMIT_MIB = 256

/** @param timeoutMs limit for one request, without the time in the queue. */
export function createDataReader({ timeoutMs = 5000 }: { readonly timeoutMs?: number } = {}): DataReader {
  const threads = createThreadPool('data reader', { permanent: 1, spare: SPARE_THREADS })
  const loop = new EventLoopBudget()

  async function inThread(request: DataRequest, tenant: Tenant): Promise<unknown> {
    const text = serialize(request)
    const reply = await threads.use(
      () => startThread(WORKER_FILE, undefined, HEAP_LIMIT_MIB),
      async (thread) => ({
        answer: (await toLimitExceeded(thread.run(text, timeoutMs), timeoutMs)) as DataReply,
        replaceThread: thread.isSlow,
      }),
      tenant,
    )
    if ('answer' in reply) return reply.answer
    throw toError(reply.fault)
  }

  return {
    of: (tenant) =>
      createTenantData({
        inThread: (request) => inThread(request, tenant),
        inlineIfCheap: (cost, inline, inThread) => runInlineIfCheap(loop, cost, { inline, inThread }),
      }),
    close: () => threads.close(),
  }
}

interface Executors {
  readonly inThread: (request: DataRequest) => Promise<unknown>
  /** If the inline work returns undefined, the data is larger than it claimed, and the thread processes it. */
  readonly inlineIfCheap: <T>(cost: number, inline: () => T | undefined, inThread: () => Promise<unknown>) => Promise<T>
}

function createTenantData({ inThread, inlineIfCheap }: Executors): TenantData {
  return {
    yaml: (text) =>
      inlineIfCheap(
        yamlCost(text),
        () => readYaml(text),
        () => onLimitExceeded(inThread({ ask: 'yaml', text }), throwYamlTooLarge),
      ),
    document: (text) =>
      inlineIfCheap(
        yamlCost(text),
        () => readYamlDocument(text),
        () => onLimitExceeded(inThread({ ask: 'document', text }), (why) => ({ problem: `a text that is ${why}` })),
      ),
    definition: (text, json) =>
      inlineIfCheap(
        yamlCost(text) + (json === undefined ? 0 : yamlCost(json)),
        () => readDefinition(text, json),
        () =>
          onLimitExceeded(
            inThread({ ask: 'definition', text, ...(json !== undefined && { json }) }),
            throwBlueprintTooLarge,
          ),
      ),
    items: (packed) =>
      inlineIfCheap(
        decompressionCost(packed),
        () => decompressItems(packed, MAX_INLINE_BYTES),
        () => onLimitExceeded(inThread({ ask: 'items', packed }), unreadableItems),
      ),
    archive: (packed) => {
      const text = packed.toString('base64')
      return inlineIfCheap(
        decompressionCost(text),
        () => unpackArchive(packed, MAX_INLINE_BYTES),
        () => onLimitExceeded(inThread({ ask: 'archive', packed: text }), throwArchiveTooLarge),
      )
    },
    packedProblems: async (packed) =>
      (await onLimitExceeded(inThread({ ask: 'packedProblems', packed }), (why) => [
        compressedItemsProblem(why),
      ])) as readonly Problem[],
    blueprintProblems: async (blueprint) =>
      (await onLimitExceeded(inThread({ ask: 'blueprintProblems', blueprint }), () => [])) as readonly Problem[],
    values: (object, paths) =>
      inlineIfCheap(
        pathsCost(object, paths) + INLINE_RESULT_LIMIT.nodes,
        () => evaluatePaths(object, paths, INLINE_RESULT_LIMIT),
        () =>
          onLimitExceeded(inThread({ ask: 'values', object, paths: paths.map((path) => path.text) }), (why) =>
            paths.map(() => ({ problem: `one of those that are ${why}` })),
          ),
      ),
    unsatisfied: async (object, requirements) => {
      const lack = await inlineIfCheap(
        requirementsCost(object, requirements),
        () => ({ lack: unsatisfied(object, requirements) }),
        async () => ({
          lack: await onLimitExceeded(inThread(requirementsRequest(object, requirements)), requirementsTooLarge),
        }),
      )
      return lack.lack
    },
  }
}

async function runInlineIfCheap<T>(
  loop: EventLoopBudget,
  cost: number,
  { inline, inThread }: { readonly inline: () => T | undefined; readonly inThread: () => Promise<unknown> },
): Promise<T> {
  if (cost > MAX_INLINE_COST) return (await inThread()) as T
  await loop.acquire(cost)
  const answer = inline()
  return answer === undefined ? ((await inThread()) as T) : answer
}

/** Above this number of nodes, only plain paths are cheap. */
const MAX_COUNTED_NODES = 20_000

function pathsCost(object: unknown, paths: readonly JsonPath[]): number {
  const perLook = paths.reduce((sum, { cost }) => sum + cost.perLook, 0)
  const perNode = paths.reduce((sum, { cost }) => sum + cost.perNode, 0)
  return perNode === 0 ? perLook : perLook + perNode * countNodes(object, MAX_COUNTED_NODES)
}

// Each selected value is compared with each expected value, key by key if both are maps or lists.
function requirementsCost(object: unknown, requirements: readonly Requirement[]): number {
  const expectedNodes = countNodes(
    requirements.map(({ values }) => values),
    MAX_COUNTED_NODES,
  )
  const comparisons = Math.max(1, expectedNodes - requirements.length)
  const pathCost = pathsCost(
    object,
    requirements.map(({ path }) => path),
  )
  return comparisons * (pathCost + (requirements.some(hasNested) ? comparisonCost(object) : 0))
}

function hasNested({ values }: Requirement): boolean {
  return values.some((value) => typeof value === 'object' && value !== null)
}

// A comparison lists all keys of a map first, even if few are compared.
function comparisonCost(object: unknown): number {
  const nodes = countNodes(object, MAX_COUNTED_NODES)
  return nodes < MAX_COUNTED_NODES ? nodes : Infinity
}

function serialize(request: DataRequest): string {
  try {
    return writeJson(request)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new LimitExceeded('nested too deeply')
  }
}

async function toLimitExceeded<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof ThreadEnded) || error.reason === 'crash') throw error
    throw new LimitExceeded(
      error.reason === 'timeout' ? `not read within ${timeoutMs} ms` : 'more than there is memory for',
    )
  }
}

function toError(fault: DataFault): Error {
  if (fault.of === 'yaml') return toYamlError(fault)
  const { code, message, cause } = fault
  return new BlueprintError(code, message, cause === undefined ? undefined : { cause: toYamlError(cause) })
}

function toYamlError({ line, column, reason, message, isSyntaxError }: YamlFault): YamlError {
  return new (isSyntaxError ? YamlSyntaxError : YamlError)({ line, col: column }, reason, message)
}

/** Maps an exceeded limit to the result that the caller gets instead of an answer. */
async function onLimitExceeded(work: Promise<unknown>, toResult: (why: string) => unknown): Promise<unknown> {
  try {
    return await work
  } catch (error) {
    if (error instanceof LimitExceeded) return toResult(error.message)
    throw error
  }
}

function requirementsTooLarge(why: string): string {
  return `its requirements are ${why}`
}

function throwYamlTooLarge(why: string): never {
  throw new YamlError({ line: 1, col: 1 }, `${why}; expected less text`)
}

function throwBlueprintTooLarge(why: string): never {
  throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', `blueprint.yaml: ${why}; expected less text`)
}

function throwArchiveTooLarge(why: string): never {
  throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', `${why}; expected a smaller archive`)
}

function requirementsRequest(object: KubeObject, requirements: readonly Requirement[]): DataRequest {
  const asked = requirements.map(({ pathText, operator, values }) => ({ pathText, operator, values }))
  return { ask: 'unsatisfied', object, requirements: asked }
}
