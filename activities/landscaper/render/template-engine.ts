// Renders templates in worker threads. What a template can do to us is bounded: memory by the module, time by stopping its thread,
// output by the engine; it has no file system, no network, no process. It is not for templates of our own code.
// Schemas of blueprints are checked beside it in processes of their own, because they are as hostile and code is made from them.

import { readJson, writeJson } from '../../../workflows/kit/index.ts'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import type { FileContent } from './file-content.ts'
import { checkOn, startSchemaProcess, type SchemaReport, type SchemaRequest } from './schema-process.ts'
import { redactMessage, shorten, type BlueprintText } from './redact.ts'
import { TemplateError } from './template-error.ts'
import { renderOn, startTemplateThread } from './template-thread.ts'
import type { BoundedThread } from '../bounded/bounded-thread.ts'
import { createDataReader, type TenantData } from '../bounded/tenant-data.ts'
import { createThreadPool, type Tenant } from '../bounded/thread-pool.ts'
import type { IssuedKubeconfigs, KubeconfigSource, WantedKubeconfig } from './wanted-kubeconfigs.ts'
import { compileModule, type WasmModule } from './web-assembly.ts'
import { orReadByGo } from './yaml-by-go.ts'

const ENGINE_FILE = new URL('../../../deploy/templates/engine.wasm.br', import.meta.url)
const CHECKSUM_FILE = new URL('../../../deploy/templates/engine.sha256', import.meta.url)
const MIB = 1024 * 1024
const WORN_MEMORY_BYTES = 64 * MIB
/** Beside those that are kept, while templates or schemas of somebody take long. */
const SPARE_THREADS = 3

/** Source: spec/landscaper.md 3.7 and 3.8. */
export type TemplateLanguage = 'GoTemplate' | 'Spiff'

/** `name` names the template in messages; `files` are the blueprint's, by paths such as `templates/a.yaml`. */
export interface TemplateRequest extends BlueprintText {
  readonly engine: TemplateLanguage
  /** What a Go template sees as `.`, and Spiff as its variables, then a map; JSON values only. */
  readonly binding: unknown
  /** Of Spiff: `json` if the template is JSON and not YAML. */
  readonly form?: 'json'
  /** Of Spiff: what its state nodes held the last time. */
  readonly state?: unknown
  /** Absent: the binding has no component. Else what was wanted of its resources so far, by the key that resource-contents.ts makes. */
  readonly contents?: Readonly<Record<string, FileContent>>
  /** Absent: the template gets none. Else those that were wanted so far. */
  readonly kubeconfigs?: IssuedKubeconfigs
}

/** A resource of which a template asks for the content, by its place in the list of its component. */
export interface WantedContent {
  readonly component: string
  readonly version: string
  readonly index: number
}

export interface Rendered {
  /** Text of a Go template; of Spiff the document as JSON. */
  readonly output: string
  /** Of Spiff: its state nodes, absent if it has none. */
  readonly state?: unknown
  /** Present: nothing is rendered, because of what is not among the contents of the request. */
  readonly wanted?: readonly WantedContent[]
  /** The same, because of kubeconfigs. */
  readonly wantedKubeconfigs?: readonly WantedKubeconfig[]
}

export interface TemplateEngine {
  /**
   * Renders one template; requests beyond the number of threads wait their turn.
   *
   * @throws TemplateError, see its codes; the next render is not affected.
   */
  render(request: TemplateRequest): Promise<Rendered>
  /**
   * Holds a value against a JSON schema.
   *
   * @throws BlueprintError `SchemaValidationFailed` when that takes more time or memory than it may.
   */
  checkSchema(request: SchemaRequest): Promise<SchemaReport>
  /** How the texts and objects are read that templates are made of, or make. */
  readonly data: TenantData
  /** Who issues kubeconfigs that templates ask for; absent: nobody. */
  readonly kubeconfigs?: KubeconfigSource
}

/** The engine of a process; what is not said to be for a tenant is for one without a name. */
export interface TemplateEngines extends TemplateEngine {
  /** For one tenant: namespaces share the threads, and what a signal ends goes on no longer. Both reject with the signal's reason. */
  of(tenant: Tenant): TemplateEngine
  /** Stops all threads; renders in flight fail, later ones are refused. */
  close(): Promise<void>
}

export interface TemplateEngineOptions {
  /** For one render, waiting for a free thread not counted. */
  readonly timeoutMs?: number
  /** For one value and its schema, likewise. */
  readonly schemaTimeoutMs?: number
  readonly outputLimitBytes?: number
  /** Of template, binding and files together, as JSON. */
  readonly requestLimitBytes?: number
  readonly threads?: number
}

interface EngineAnswer {
  readonly output: string
  readonly state?: unknown
  readonly wanted?: readonly WantedContent[]
  readonly wantedKubeconfigs?: readonly WantedKubeconfig[]
  readonly failed: '' | 'request' | 'parse' | 'execute' | 'limit'
  readonly message: string
}

/** Creates an engine. Threads start with the first render that needs them; the module is compiled once per process. */
export function createTemplateEngine(options: TemplateEngineOptions = {}): TemplateEngines {
  const { timeoutMs = 10_000, schemaTimeoutMs = 5_000, threads = 2 } = options
  const { outputLimitBytes = 4 * MIB, requestLimitBytes = 16 * MIB } = options
  const renderers = createThreadPool('template engine', { permanent: threads, spare: SPARE_THREADS })
  const checkers = createThreadPool('schema checker', { permanent: 1, spare: SPARE_THREADS })

  const reader = createDataReader()

  const rendererFor = (tenant: Tenant): Pick<TemplateEngine, 'render'> => ({
    async render(request) {
      const text = requestText(request, outputLimitBytes)
      if (text.length > requestLimitBytes) throw tooLarge(request.name, 'the request', text.length, requestLimitBytes)
      const module = await compiledEngine()
      const answer = await renderers.use(
        () => startTemplateThread(module),
        async (thread) => {
          const reply = await renderOn(thread, text, { name: request.name, timeoutMs })
          // WebAssembly memory never shrinks; an instance that has grown this far is replaced before it fails somebody else's template.
          return { answer: reply.answer, replaceThread: thread.isSlow || reply.memoryBytes > WORN_MEMORY_BYTES }
        },
        tenant,
      )
      return renderedOf(request, answer, outputLimitBytes)
    },
  })

  const of = (tenant: Tenant): TemplateEngine => {
    const renderer = rendererFor(tenant)
    return {
      ...renderer,
      async checkSchema(request) {
        const check = async (thread: BoundedThread) => {
          return { answer: await checkOn(thread, request, schemaTimeoutMs), replaceThread: thread.isSlow }
        }
        return await checkers.use(startSchemaProcess, check, tenant)
      },
      data: orReadByGo(reader.of(tenant), renderer),
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

function requestText(request: TemplateRequest, limitBytes: number): string {
  const { engine, template, form, name, binding, files, state, contents, kubeconfigs } = request
  try {
    return writeJson({ engine, template, form, name, binding, files, state, contents, kubeconfigs, limitBytes })
  } catch (error) {
    // The one way in which JSON values have no JSON text.
    if (!(error instanceof RangeError)) throw error
    throw new TemplateError('TemplateTooLarge', `template "${name}": its input is nested too deeply`)
  }
}

function renderedOf(request: TemplateRequest, text: string, limitBytes: number): Rendered {
  // Written by our own engine, see renderAnswer in deploy/templates/main.go.
  const { output, state, wanted, wantedKubeconfigs, failed, message } = readJson(text) as EngineAnswer
  if (wanted !== undefined || wantedKubeconfigs !== undefined)
    return { output: '', ...(wanted && { wanted }), ...(wantedKubeconfigs && { wantedKubeconfigs }) }
  switch (failed) {
    case '':
      return state === undefined || state === null ? { output } : { output, state }
    case 'limit':
      throw tooLarge(request.name, 'its output', undefined, limitBytes)
    case 'parse':
      // What does not parse is the blueprint's own text.
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
    `template "${name}": ${what} is ${size}, expected at most ${limit} bytes`,
  )
}

let compiled: Promise<WasmModule> | undefined

function compiledEngine(): Promise<WasmModule> {
  compiled ??= compileEngine()
  return compiled
}

async function compileEngine(): Promise<WasmModule> {
  const [compressed, checksum] = await Promise.all([readFile(ENGINE_FILE), readFile(CHECKSUM_FILE, 'utf8')])
  const wasm = await promisify(brotliDecompress)(compressed)
  const found = createHash('sha256').update(wasm).digest('hex')
  const expected = checksum.split(' ')[0] ?? ''
  if (found !== expected) throw new Error(`template engine: found sha256 ${found}, expected ${expected}`)
  return await compileModule(wasm)
}
