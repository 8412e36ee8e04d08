// Builds the workflow bundle: the built-in workflows and, for controllers of users, one workflow for each, under the controller's name.

import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { bundleWorkflowCode, type Logger } from '@temporalio/worker'

import { cachedBundle, toolVersions } from './bundle-cache.ts'
import { EXACT_PAYLOADS, ENCRYPTED_FAILURES } from './payload-codec.ts'
import { type Configuration, packageImports, withPortableNames } from './portable-bundle.ts'
import { describeBundle, readShippedBundle, type TracedBundle } from './shipped-bundle.ts'
import { modulePath } from '../../server/config.ts'

/** The prefix of temporary folders whose names appear in bundles. */
export const BUNDLE_FOLDER = 'pawl-bundle-'

interface FailureEncryption {
  /** The module that encrypts failures; present if payloads are encrypted. */
  readonly failureConverterPath?: string
}

export interface BundleOptions {
  readonly failureEncryption?: FailureEncryption
  /** The modules of the bundle; default: the built-in ones. */
  readonly source?: BundleSource
  /** The cache folder of whole bundles and, for controllers of users, of compiled modules. Changed files are compiled again. Undefined: no cache. */
  readonly cacheDir?: string | undefined
}

/** Absolute paths of the entry modules of a bundle. */
export interface BundleSource {
  readonly workflows: string
  readonly loop: string
  /** The module that records a run for `pawl replay`; it is in every bundle and inactive in a worker. Source: docs/adr/0050. */
  readonly recording: string
}

const OWN: BundleSource = {
  workflows: modulePath('../workflows/index.ts'),
  loop: modulePath('../workflows/kit/run/loop/index.ts'),
  recording: modulePath('../workflows/kit/run/loop/recording.ts'),
}

/** Builds a bundle of the built-in workflows for the npm package. @returns the content of the file. */
export async function buildShippedBundle(isEncrypted: boolean, logger: Logger): Promise<string> {
  const failureEncryption = isEncrypted ? { failureConverterPath: ENCRYPTED_FAILURES } : {}
  const modules = entryModules(OWN.workflows, { failureEncryption, shared: [OWN.workflows] })
  return await describeBundle(await buildBundle({ ...modules, logger, webpackConfigHook: webpackHook }))
}

/** Bundles the built-in workflows. */
export async function bundleWorkflows(
  logger: Logger,
  options: Pick<BundleOptions, 'failureEncryption' | 'cacheDir'> = {},
): Promise<Bundle> {
  return await bundleEntry(OWN.workflows, logger, { ...options, shared: [OWN.workflows] })
}

export interface Bundle {
  readonly code: string
}

export interface EntryOptions extends BundleOptions {
  /**
   * Modules that all runs of a thread share, with their imports: they keep no state of a run. Otherwise each run would evaluate them again, which costs
   * 8 ms of CPU and half a megabyte.
   */
  readonly shared?: readonly string[]
}

/** Bundles the workflows that a module exports. */
export async function bundleEntry(
  workflowsPath: string,
  logger: Logger,
  { cacheDir, ...options }: EntryOptions = {},
): Promise<Bundle> {
  const key = entryModules(workflowsPath, options)
  const make = async () => await buildBundle({ ...key, logger, webpackConfigHook: webpackHook })
  if (cacheDir === undefined) return { code: (await make()).code }
  return { code: await cachedBundle({ folder: cacheDir, key, onError: cacheErrorLogger(logger) }, make) }
}

function entryModules(
  workflowsPath: string,
  { failureEncryption = {}, source: { recording } = OWN, shared = [] }: Omit<EntryOptions, 'cacheDir'>,
) {
  return {
    workflowsPath,
    workflowInterceptorModules: [recording],
    preloadModules: [...shared],
    ...failureEncryption,
  }
}

function cacheErrorLogger(logger: Logger): (error: unknown) => void {
  return (error) => void logger.warn('the bundle of the workflows could not be cached', { error })
}

type BuildOptions = Parameters<typeof bundleWorkflowCode>[0] & { readonly webpackConfigHook: Hook }

/** Builds a bundle and collects its inputs. */
async function buildBundle({ webpackConfigHook, ...options }: BuildOptions): Promise<TracedBundle> {
  const inputs = { files: new Set<string>(), missing: new Set<string>() }
  let imports: TracedBundle['imports'] = () => []
  const inputPlugin: NonNullable<Configuration['plugins']>[number] = {
    apply(compiler) {
      compiler.hooks.done.tap('pawl', ({ compilation }) => {
        for (const file of compilation.fileDependencies) inputs.files.add(file)
        for (const file of compilation.missingDependencies) inputs.missing.add(file)
        imports = () => packageImports(compilation)
      })
    },
  }
  const { workflowsPath, preloadModules = [], workflowInterceptorModules = [] } = options
  const entries = [workflowsPath, ...preloadModules, ...workflowInterceptorModules]
  const { code } = await bundleWorkflowCode({
    ...options,
    payloadConverterPath: EXACT_PAYLOADS,
    webpackConfigHook: (defaults) => {
      const config = withPortableNames(webpackConfigHook(defaults), entries)
      return { ...config, plugins: [...(config.plugins ?? []), inputPlugin] }
    },
  })
  return { code, inputs, imports: () => imports() }
}

/**
 * Bundles the built-in workflows and the workflows of the controllers.
 *
 * @param files absolute paths of the modules that export `controllers`.
 * @param names of the controllers in them.
 */
export async function bundleControllers(
  files: readonly string[],
  names: readonly string[],
  logger: Logger,
  { failureEncryption = {}, cacheDir, source = OWN }: BundleOptions = {},
): Promise<Bundle> {
  const scratch = await mkdtemp(join(tmpdir(), BUNDLE_FOLDER))
  try {
    const workflowsPath = join(scratch, 'workflows.js')
    await writeFile(workflowsPath, entrySource(files, names, source))
    const parts = cacheDir === undefined ? {} : webpackCache(cacheDir, failureEncryption)
    const make = async () =>
      await buildBundle({
        workflowsPath,
        workflowInterceptorModules: [source.recording],
        logger,
        // Modules of controllers are not shared: they may keep state, so each run has its own.
        preloadModules: [source.workflows, source.loop],
        webpackConfigHook: (config) => ({ ...webpackHook(config), ...parts }),
        ...failureEncryption,
      })
    if (cacheDir === undefined) return { code: (await make()).code }
    const key = { files, names, source, ...failureEncryption, temporary: tmpdir() }
    return {
      code: await cachedBundle({ folder: cacheDir, key, scratch, onError: cacheErrorLogger(logger) }, make),
    }
  } finally {
    await rm(scratch, { recursive: true })
  }
}

type Hook = NonNullable<Parameters<typeof bundleWorkflowCode>[0]['webpackConfigHook']>
type Rule = NonNullable<NonNullable<Configuration['module']>['rules']>[number]

/**
 * The entry may lie outside of every package, so Temporal's packages are resolved from Pawl's. Dynamic imports are not bundled: `activitiesOf` names modules of
 * activities by a dynamic import, and only the worker loads them.
 */
const webpackHook: Hook = (config) => {
  const workflowPackage = createRequire(import.meta.url).resolve('@temporalio/workflow/package.json')
  const ours = dirname(dirname(dirname(workflowPackage)))
  const { parser, rules = [] } = config.module ?? {}
  return {
    ...config,
    resolve: { ...config.resolve, modules: [...(config.resolve?.modules ?? []), ours] },
    module: {
      ...config.module,
      rules: rules.map(withoutDownleveling).map(withoutMapsOfPackages),
      parser: { ...parser, javascript: { ...parser?.['javascript'], import: false } },
    },
  }
}

/** The SDK compiles TypeScript for ES2017, where each object spread becomes a loop. */
function withoutDownleveling(rule: Rule): Rule {
  if (typeof rule !== 'object' || rule === null || typeof rule.use !== 'object' || !('options' in rule.use)) return rule
  const { options } = rule.use
  if (typeof options !== 'object' || !('jsc' in options)) return rule
  const jsc = { ...(options['jsc'] as object), target: 'es2022' }
  return { ...rule, use: { ...rule.use, options: { ...options, jsc } } }
}

/** The SDK reads source maps of packages. Images have none, and a bundle must be the same everywhere. */
function withoutMapsOfPackages(rule: Rule): Rule {
  return typeof rule === 'object' && rule?.enforce === 'pre' ? { ...rule, exclude: /[\\/]node_modules[\\/]/ } : rule
}

// The bundler renews the age of entries that it uses. Older entries are useless: 3 MB for each bundle.
const UNUSED_MS = 60_000

/**
 * Packages are compared by file content, not by version: a development build of Pawl keeps its version. The cache version contains the tools, so a cache of
 * other tools is not used.
 */
function webpackCache(
  cacheDirectory: string,
  { failureConverterPath = '' }: FailureEncryption,
): Partial<Configuration> {
  return {
    cache: {
      type: 'filesystem',
      cacheDirectory,
      version: `${toolVersions()} ${failureConverterPath}`,
      maxAge: UNUSED_MS,
    },
    snapshot: { managedPaths: [], immutablePaths: [] },
  }
}

function entrySource(files: readonly string[], names: readonly string[], { workflows, loop }: BundleSource): string {
  const from = (path: string) => JSON.stringify(path)
  return [
    `export * from ${from(workflows)}`,
    `import { runLevel } from ${from(loop)}`,
    ...files.map((file, index) => `import { controllers as of${index} } from ${from(file)}`),
    `const controllers = [${files.map((_, index) => `...of${index}`).join(', ')}]`,
    'const named = (name) => controllers.find((controller) => controller.name === name)',
    // Exported under an alias, because a name may be a reserved word.
    ...names.map((name, index) => `const run${index} = async (input) => await runLevel(named('${name}'), input)`),
    ...names.map((name, index) => `export { run${index} as ${name} }`),
  ].join('\n')
}

// The workflow code of a worker and its build name. Two workers of one build behave the same in every pass.

export interface Build {
  /** A hash of the code. */
  readonly name: string
  readonly code: string
}

export interface BuildSource {
  /** A prebuilt bundle. */
  readonly workflowBundle: string | undefined
  /** Modules of controllers. */
  readonly controllerFiles: readonly string[]
  /** Undefined: payloads are not encrypted. */
  readonly payloadKeyPath: string | undefined
  /** The cache folder of bundles; undefined: no cache. */
  readonly bundleCacheDir?: string | undefined
}

/** @param names of the controllers in the modules. */
export async function buildOf(source: BuildSource, names: readonly string[], logger: Logger): Promise<Build> {
  const code = await codeOf(source, names, logger)
  return { name: buildName(code), code }
}

async function codeOf(
  { workflowBundle, controllerFiles: files, payloadKeyPath, bundleCacheDir: cacheDir }: BuildSource,
  names: readonly string[],
  logger: Logger,
): Promise<string> {
  const failureEncryption = payloadKeyPath === undefined ? {} : { failureConverterPath: ENCRYPTED_FAILURES }
  if (workflowBundle !== undefined) return await readFile(workflowBundle, 'utf8')
  if (files.length > 0) return (await bundleControllers(files, names, logger, { failureEncryption, cacheDir })).code
  return (
    (await readShippedBundle(payloadKeyPath !== undefined, logger)) ??
    (await bundleWorkflows(logger, { failureEncryption, cacheDir })).code
  )
}

const SOURCE_MAP = '\n//# sourceMappingURL=data:'
const FOLDERS = new RegExp(`${BUNDLE_FOLDER}\\w+`, 'g')

/** Equal for equal code, independent of place and time of the build, on machines of one image. */
export function buildName(code: string): string {
  const map = code.lastIndexOf(SOURCE_MAP)
  const own = (map < 0 ? code : code.slice(0, map)).replace(FOLDERS, '')
  return createHash('sha256').update(own).digest('hex').slice(0, 12)
}
