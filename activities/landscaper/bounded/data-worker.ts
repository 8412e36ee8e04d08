// The worker module of the data thread: processes tenants' data, one request at a time.

import { type Problem, readJson } from '../../../workflows/kit/index.ts'
import { parentPort } from 'node:worker_threads'
import { BlueprintError, type BlueprintErrorCode } from '../render/render-errors.ts'
import { unpackArchive } from '../render/blueprint/blueprint-files.ts'
import { readYaml, YamlError, YamlSyntaxError } from '../../yaml/read-yaml.ts'
import { COMPRESSED_FIELD, compressedItemsProblem, decompressItems } from './compressed-items.ts'
import { compileJsonPath } from '../deploy/objects/json-path.ts'
import { evaluatePaths } from './path-values.ts'
import { readDefinition } from '../render/blueprint/blueprint-definition.ts'
import { readYamlDocument } from '../deploy/target/yaml-document.ts'
import { type Operator, unsatisfied } from '../deploy/objects/readiness/custom-checks.ts'
import { threadID } from './cpu-time.ts'
import { listProblems } from '../../../workflows/landscaper/item-rules.ts'
import { listedCycles } from '../render/subinstallation-templates.ts'
import type { KubeObject } from '../../kube/client.ts'

/** A request to the data thread: one message of JSON text. */
export type DataRequest =
  /** The value of a YAML text of a blueprint, an import or a rendered template. */
  | { readonly ask: 'yaml'; readonly text: string }
  /** The value of a YAML text of a Target. */
  | { readonly ask: 'document'; readonly text: string }
  /** The definition in a blueprint.yaml; `json`: the JSON that Go's parser makes of the text. */
  | { readonly ask: 'definition'; readonly text: string; readonly json?: string }
  /** The compressed items of an Execution. */
  | { readonly ask: 'items'; readonly packed: string }
  /** The files of a tar archive in base64. */
  | { readonly ask: 'archive'; readonly packed: string }
  /** The problems that the admission rules find in the compressed items of an Execution. */
  | { readonly ask: 'packedProblems'; readonly packed: string }
  /** The problems that the admission rules find in the blueprint of an Installation. */
  | { readonly ask: 'blueprintProblems'; readonly blueprint: unknown }
  /** The values that each path selects. */
  | { readonly ask: 'values'; readonly object: unknown; readonly paths: readonly string[] }
  /** The first requirement that the object does not satisfy. */
  | {
      readonly ask: 'unsatisfied'
      readonly object: KubeObject
      readonly requirements: readonly SerializedRequirement[]
    }

export interface SerializedRequirement {
  readonly pathText: string
  readonly operator: Operator
  readonly values: readonly unknown[]
}

export type DataReply = { readonly answer: unknown } | { readonly fault: DataFault }

/** A mistake of the author. The receiver throws it as the error that it was in the thread. */
export type DataFault =
  | YamlFault
  | {
      readonly of: 'definition'
      readonly code: BlueprintErrorCode
      readonly message: string
      /** Absent if the text is valid YAML. */
      readonly cause?: YamlFault
    }

export interface YamlFault {
  readonly of: 'yaml'
  readonly line: number
  readonly column: number
  readonly reason: string
  readonly message: string
  /** True for a YamlSyntaxError. */
  readonly isSyntaxError: boolean
}

async function handleRequest(request: DataRequest): Promise<unknown> {
  switch (request.ask) {
    case 'yaml':
      return readYaml(request.text)
    case 'document':
      return readYamlDocument(request.text)
    case 'definition':
      return readDefinition(request.text, request.json)
    case 'items':
      return decompressItems(request.packed)
    case 'archive':
      return unpackArchive(Buffer.from(request.packed, 'base64'))
    case 'packedProblems':
      return packedProblems(request.packed)
    case 'blueprintProblems':
      return await blueprintProblems(request.blueprint)
    case 'values':
      return evaluatePaths(request.object, request.paths.map(compileJsonPath))
    case 'unsatisfied': {
      const requirements = request.requirements.map((one) => ({ ...one, path: compileJsonPath(one.pathText) }))
      return unsatisfied(request.object, requirements)
    }
  }
}

function toDataFault(error: unknown): DataFault | undefined {
  if (error instanceof YamlError) return toYamlFault(error)
  if (!(error instanceof BlueprintError)) return undefined
  const { code, message, cause } = error
  return { of: 'definition', code, message, ...(cause instanceof YamlError && { cause: toYamlFault(cause) }) }
}

function toYamlFault(error: YamlError): YamlFault {
  const { line, column, reason, message } = error
  return { of: 'yaml', line, column, reason, message, isSyntaxError: error instanceof YamlSyntaxError }
}

async function replyTo(text: string): Promise<DataReply> {
  try {
    // The text was written by tenant-data.ts.
    return { answer: await handleRequest(readJson(text) as DataRequest) }
  } catch (error) {
    const fault = toDataFault(error)
    if (fault === undefined) throw error
    return { fault }
  }
}

/** No client shows more. */
const MAX_PROBLEMS = 50

/** The problems in the compressed items of an Execution. */
export function packedProblems(packed: string): readonly Problem[] {
  const unpacked = decompressItems(packed)
  if (unpacked === undefined) return []
  if ('problem' in unpacked) return [compressedItemsProblem(unpacked.found)]
  const problems: Problem[] = []
  for (const problem of listProblems(unpacked.items, COMPRESSED_FIELD)) {
    problems.push(problem)
    if (problems.length === MAX_PROBLEMS) break
  }
  return problems
}

/** The problems in the blueprint of an Installation. */
export async function blueprintProblems(blueprint: unknown): Promise<readonly Problem[]> {
  const data = {
    yaml: (text: string) => Promise.resolve().then(() => readYaml(text)),
    definition: (text: string) => Promise.resolve().then(() => readDefinition(text)),
  }
  return (await listedCycles(data, blueprint)).slice(0, MAX_PROBLEMS)
}

const port = parentPort
if (port === null) throw new Error('data worker: started as a program; expected to be a worker thread')
// An error that is not the author's mistake is unhandled and ends the thread.
port.on('message', (request: string) => void replyTo(request).then((answer) => port.postMessage(answer)))
port.postMessage({ threadID: threadID() })
