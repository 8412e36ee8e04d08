// Renders templates of tenants in worker threads, with limits: the WebAssembly module limits memory, stopping the thread limits time, and the engine
// limits its output. A template has no access to files, network or processes. Schemas of blueprints are checked in child processes, because the
// validator compiles them to code.

import { readJson, writeJson } from '../../../../workflows/kit/index.ts'
import { compiledEngine } from '../../../templates/engine-module.ts'
import type { EngineAnswer } from '../../../templates/engine-instance.ts'
import type { WasmModule } from '../../../templates/web-assembly.ts'
import type { FileContent } from '../file-content.ts'
import {
  validateInProcess,
  startSchemaProcess,
  type SchemaReport,
  type SchemaRequest,
} from '../schema/schema-process.ts'
import { redactMessage, shorten, type BlueprintText } from './redact.ts'
import { TemplateError } from '../render-errors.ts'
import { type BoundedThread, ThreadEnded, startThread } from '../../bounded/bounded-thread.ts'
import { createDataReader, type TenantData } from '../../bounded/tenant-data.ts'
import { createThreadPool, type Tenant } from '../../bounded/thread-pool.ts'
import type { IssuedKubeconfigs, KubeconfigSource, KubeconfigRequest } from './kubeconfig-requests.ts'
import { withGoFallback } from './yaml-by-go.ts'
import { extname } from 'node:path'
import type { EndReason, ThreadReply } from './template-worker.ts'

const MIB = 1024 * 1024
const MAX_KEPT_MEMORY_BYTES = 64 * MIB
/** In addition to the permanent ones, for when templates or schemas take long. */
const SPARE_THREADS = 3

/** Source: spec/landscaper.md 3.7 and 3.8. */
export type TemplateLanguage = 'GoTemplate' | 'Spiff'

/** `name` is the template's name in messages; `files` are the blueprint's files by paths such as `templates/a.yaml`. */
export interface TemplateRequest extends BlueprintText {
  readonly engine: TemplateLanguage
  /** The value of `.` in a Go template; for Spiff a map with its variables. JSON values only. */
  readonly binding: unknown
  /** Only for Spiff: `json` if the template is JSON and not YAML. */
  readonly form?: 'json'
  /** Only for Spiff: the state nodes of the previous rendering. */
  readonly state?: unknown
  /** Absent if the binding has no component. Otherwise the resource contents that were read so far, by the keys of render-with-requests.ts. */
  readonly contents?: Readonly<Record<string, FileContent>>
  /** Absent if the template may not request kubeconfigs. Otherwise the kubeconfigs that were issued so far. */
  readonly kubeconfigs?: IssuedKubeconfigs
}

/** A resource whose content a template requests, by its index in the component's list. */
export interface ContentRequest {
  readonly component: string
  readonly version: string
  readonly index: number
}

export interface Rendered {
  /** The text of a Go template; for Spiff the document as JSON. */
  readonly output: string
  /** Only for Spiff: the state nodes; absent if the document has none. */
  readonly state?: unknown
  /** If present, the output is empty, because the template needs the contents of these resources first. */
  readonly requestedContents?: readonly ContentRequest[]
  /** If present, the output is empty, because the template needs these kubeconfigs first. */
  readonly requestedKubeconfigs?: readonly KubeconfigRequest[]
}

export interface TemplateEngine {
  /**
   * Renders one template. Requests wait while all threads are busy.
   *
   * @throws TemplateError, see its codes; later renderings are not affected.
   */
  render(request: TemplateRequest): Promise<Rendered>
  /**
   * Validates a value against a JSON schema.
   *
   * @throws BlueprintError `SchemaValidationFailed` when the validation exceeds the limit for time or memory.
   */
  checkSchema(request: SchemaRequest): Promise<SchemaReport>
  /** Parsers for the inputs and outputs of templates. */
  readonly data: TenantData
  /** Issues the kubeconfigs that templates request; absent if they cannot request any. */
  readonly kubeconfigs?: KubeconfigSource
}

/** The template engine of a process. Methods called without `of` work for a tenant without a name. */
export interface TemplateEngines extends TemplateEngine {
  /** The engine for one tenant. Tenants share the threads fairly. Both methods reject with the signal's reason when it is aborted. */
  of(tenant: Tenant): TemplateEngine
  /** Stops all threads; renderings in progress fail, later ones are refused. */
  close(): Promise<void>
}

export interface TemplateEngineOptions {
  /** Limit for one rendering, without the time in the queue. */
  readonly timeoutMs?: number
  /** Limit for one validation, without the time in the queue. */
  readonly schemaTimeoutMs?: number
  readonly outputLimitBytes?: number
  /** Limit for template, binding and files together, as JSON. */
  readonly requestLimitBytes?: number
  readonly threads?: number
}

/** The parts of an answer that only blueprints have. */
interface BlueprintAnswer extends EngineAnswer {
  readonly state?: unknown
  readonly wanted?: readonly ContentRequest[]
  readonly wantedKubeconfigs?: readonly KubeconfigRequest[]
}

/** Creates an engine. Threads start with the first rendering that needs them; the module is compiled once per process. */
export function createTemplateEngine(options: TemplateEngineOptions = {}): TemplateEngines {
  const { timeoutMs = 10_000, schemaTimeoutMs = 5_000, threads = 2 } = options
  const { outputLimitBytes = 4 * MIB, requestLimitBytes = 16 * MIB } = options
  const renderers = createThreadPool('template engine', { permanent: threads, spare: SPARE_THREADS })
  const checkers = createThreadPool('schema checker', { permanent: 1, spare: SPARE_THREADS })

  const reader = createDataReader()

  const rendererFor = (tenant: Tenant): Pick<TemplateEngine, 'render'> => ({
    async render(request) {
      const text = serializeRequest(request, outputLimitBytes)
      if (text.length > requestLimitBytes) throw tooLarge(request.name, 'the request', text.length, requestLimitBytes)
      const module = await compiledEngine()
      const answer = await renderers.use(
        () => startTemplateThread(module),
        async (thread) => {
          const reply = await renderOn(thread, text, { name: request.name, timeoutMs })
          // WebAssembly memory never shrinks: replace an instance that has grown before it fails another tenant's template.
          return { answer: reply.answer, replaceThread: thread.isSlow || reply.memoryBytes > MAX_KEPT_MEMORY_BYTES }
        },
        tenant,
      )
      return toRendered(request, answer, outputLimitBytes)
    },
  })

  const of = (tenant: Tenant): TemplateEngine => {
    const renderer = rendererFor(tenant)
    return {
      ...renderer,
      async checkSchema(request) {
        const check = async (thread: BoundedThread) => {
          return { answer: await validateInProcess(thread, request, schemaTimeoutMs), replaceThread: thread.isSlow }
        }
        return await checkers.use(startSchemaProcess, check, tenant)
      },
      data: withGoFallback(reader.of(tenant), renderer),
    }
  }

  return {
    ...of({ namespace: '' }),
    of,
    async close() {
      await Promise.all([renderers.close(), checkers.close(), reader.close()])
    },
  }
}

function serializeRequest(request: TemplateRequest, limitBytes: number): string {
  const { engine, template, form, name, binding, files, state, contents, kubeconfigs } = request
  try {
    return writeJson({ engine, template, form, name, binding, files, state, contents, kubeconfigs, limitBytes })
  } catch (error) {
    // JSON values have no JSON text only if they are nested too deeply.
    if (!(error instanceof RangeError)) throw error
    throw new TemplateError('TemplateTooLarge', `template "${name}": its input is nested too deeply`)
  }
}

function toRendered(request: TemplateRequest, text: string, limitBytes: number): Rendered {
  // Written by renderAnswer in deploy/templates/main.go.
  const { output, state, wanted, wantedKubeconfigs, failed, message } = readJson(text) as BlueprintAnswer
  if (wanted !== undefined || wantedKubeconfigs !== undefined) {
    return {
      output: '',
      ...(wanted && { requestedContents: wanted }),
      ...(wantedKubeconfigs && { requestedKubeconfigs: wantedKubeconfigs }),
    }
  }
  switch (failed) {
    case '':
      return state === undefined || state === null ? { output } : { output, state }
    case 'limit':
      throw tooLarge(request.name, 'its output', undefined, limitBytes)
    case 'parse':
      // A parse error quotes only text of the blueprint.
      throw new TemplateError('TemplateFailed', shorten(message))
    case 'request':
    case 'execute':
      throw new TemplateError('TemplateFailed', redactMessage(message, request))
  }
}

function tooLarge(name: string, what: string, found: number | undefined, limit: number): TemplateError {
  const size = found === undefined ? 'larger than allowed' : `${found} bytes`
  return new TemplateError(
    'TemplateTooLarge',
    `template "${name}": ${what} is ${size}; expected at most ${limit} bytes`,
  )
}

const WORKER_FILE = new URL(`./template-worker${extname(import.meta.filename)}`, import.meta.url)

export type ThreadAnswer = Extract<ThreadReply, { type: 'answer' }>

export function startTemplateThread(module: WasmModule): BoundedThread {
  return startThread(WORKER_FILE, module)
}

/**
 * Renders one request in a thread that holds an instance of the template engine; `name` is for error messages.
 *
 * @throws TemplateError `TemplateTimeout`, `TemplateMemory` or `TemplateCrashed`; the thread must not be used again.
 */
export async function renderOn(
  thread: BoundedThread,
  request: string,
  { name, timeoutMs }: { name: string; timeoutMs: number },
): Promise<ThreadAnswer> {
  // The replies are those of template-worker.ts.
  const reply = (await toTemplateError(thread.run(request, timeoutMs), name, timeoutMs)) as ThreadReply
  if (reply.type === 'answer') return reply
  throw threadEndError(name, reply.reason)
}

async function toTemplateError<T>(work: Promise<T>, name: string, timeoutMs: number): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof ThreadEnded)) throw error
    if (error.reason !== 'timeout') throw threadEndError(name, error.reason, error.detail)
    throw new TemplateError('TemplateTimeout', `template "${name}": not rendered within ${timeoutMs} ms`)
  }
}

function threadEndError(name: string, reason: EndReason, detail = 'failed; the worker tries again'): TemplateError {
  switch (reason) {
    case 'memory':
      return new TemplateError('TemplateMemory', `template "${name}": needed more memory than a template may have`)
    case 'stack':
      return new TemplateError('TemplateMemory', `template "${name}": nested too deeply, its stack is exhausted`)
    case 'crash':
      return new TemplateError('TemplateCrashed', `template "${name}": the thread that renders it ${detail}`)
  }
}
