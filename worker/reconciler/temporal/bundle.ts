// The workflows' bundle: Pawl's own workflows, and when a worker runs controllers of its user one for each of these, under its name.

import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { bundleWorkflowCode, type Logger } from '@temporalio/worker'

import { type FreshBundle, keptBundle, maker } from './bundle-cache.ts'
import { EXACT_PAYLOADS, SEALED_FAILURES } from './payload-codec.ts'
import { modulePath } from '../../server/config.ts'

/** How folders begin whose names stand in bundles. */
export const BUNDLE_FOLDER = 'pawl-bundle-'

interface Sealing {
  /** The module that seals failures, if payloads are sealed. */
  readonly failureConverterPath?: string
}

export interface BundleOptions {
  readonly sealing?: Sealing
  /** Whose workflows; default: ours. */
  readonly source?: BundleSource
  /**
   * Where whole bundles are kept for the next time, and with controllers what was compiled of their modules; of those that have changed since nothing is
   * taken. Undefined: nowhere.
   */
  readonly cacheDir?: string | undefined
}

/** Absolute paths of the modules that a bundle of Pawl is made of. */
export interface BundleSource {
  readonly workflows: string
  readonly loop: string
  /** What tells a replay of a run; it is in every bundle, and sleeps in a worker. Source: docs/adr/0050. */
  readonly recording: string
}

const OWN: BundleSource = {
  workflows: modulePath('../workflows/index.ts'),
  loop: modulePath('../workflows/kit/run/loop/index.ts'),
  recording: modulePath('../workflows/kit/run/loop/recording.ts'),
}

/** Bundles Pawl's own workflows. */
export async function bundleWorkflows(
  logger: Logger,
  options: Pick<BundleOptions, 'sealing' | 'cacheDir'> = {},
): Promise<Bundle> {
  return await bundleEntry(OWN.workflows, logger, { ...options, shared: [OWN.workflows] })
}

export interface Bundle {
  readonly code: string
}

export interface EntryOptions extends BundleOptions {
  /**
   * Modules that all runs of a thread share, with what these import: they say nothing of a run outside of its own calls. Each run would evaluate them anew,
   * 8 ms of CPU and half a megabyte for ours.
   */
  readonly shared?: readonly string[]
}

/** Bundles the workflows that a module exports. */
export async function bundleEntry(
  workflowsPath: string,
  logger: Logger,
  { sealing = {}, cacheDir, source: { recording } = OWN, shared = [] }: EntryOptions = {},
): Promise<Bundle> {
  const asked = { workflowsPath, workflowInterceptorModules: [recording], preloadModules: [...shared], ...sealing }
  const make = async () => await bundled({ ...asked, logger, webpackConfigHook: hook })
  if (cacheDir === undefined) return { code: (await make()).code }
  return { code: await keptBundle({ folder: cacheDir, asked, failed: tellsOf(logger) }, make) }
}

function tellsOf(logger: Logger): (error: unknown) => void {
  return (error) => void logger.warn('the bundle of the workflows cannot be kept', { error })
}

type Wanted = Parameters<typeof bundleWorkflowCode>[0] & { readonly webpackConfigHook: Hook }

/** A bundle, and what it was made of. */
async function bundled({ webpackConfigHook, ...wanted }: Wanted): Promise<FreshBundle> {
  const madeOf = { files: new Set<string>(), missing: new Set<string>() }
  const telling: NonNullable<Configuration['plugins']>[number] = {
    apply(compiler) {
      compiler.hooks.done.tap('pawl', ({ compilation: { fileDependencies, missingDependencies } }) => {
        for (const file of fileDependencies) madeOf.files.add(file)
        for (const file of missingDependencies) madeOf.missing.add(file)
      })
    },
  }
  const { code } = await bundleWorkflowCode({
    ...wanted,
    payloadConverterPath: EXACT_PAYLOADS,
    webpackConfigHook: (given) => {
      const config = webpackConfigHook(given)
      return { ...config, plugins: [...(config.plugins ?? []), telling] }
    },
  })
  return { code, madeOf }
}

/**
 * Bundles the workflows with those of the controllers.
 *
 * @param files absolute paths of the modules that export `controllers`.
 * @param names of the controllers in them.
 */
export async function bundleControllers(
  files: readonly string[],
  names: readonly string[],
  logger: Logger,
  { sealing = {}, cacheDir, source = OWN }: BundleOptions = {},
): Promise<Bundle> {
  const scratch = await mkdtemp(join(tmpdir(), BUNDLE_FOLDER))
  try {
    const workflowsPath = join(scratch, 'workflows.js')
    await writeFile(workflowsPath, entry(files, names, source))
    const parts = cacheDir === undefined ? {} : cachedIn(cacheDir, sealing)
    const make = async () =>
      await bundled({
        workflowsPath,
        workflowInterceptorModules: [source.recording],
        logger,
        // Those of the controllers may keep what they like: they are theirs, and each run has its own.
        preloadModules: [source.workflows, source.loop],
        webpackConfigHook: (config) => ({ ...hook(config), ...parts }),
        ...sealing,
      })
    if (cacheDir === undefined) return { code: (await make()).code }
    const asked = { files, names, source, ...sealing, temporary: tmpdir() }
    return { code: await keptBundle({ folder: cacheDir, asked, scratch, failed: tellsOf(logger) }, make) }
  } finally {
    await rm(scratch, { recursive: true })
  }
}

type Hook = NonNullable<Parameters<typeof bundleWorkflowCode>[0]['webpackConfigHook']>
type Configuration = ReturnType<Hook>
type Rule = NonNullable<NonNullable<Configuration['module']>['rules']>[number]

/**
 * The entry may lie outside of every package: what it needs of Temporal is ours. What is imported by a call is no part of the sandbox: so modules of
 * activities are named (`activitiesOf`), and the worker alone loads them.
 */
const hook: Hook = (config) => {
  const workflowPackage = createRequire(import.meta.url).resolve('@temporalio/workflow/package.json')
  const ours = dirname(dirname(dirname(workflowPackage)))
  const { parser, rules = [] } = config.module ?? {}
  return {
    ...config,
    resolve: { ...config.resolve, modules: [...(config.resolve?.modules ?? []), ours] },
    module: {
      ...config.module,
      rules: rules.map(asWritten),
      parser: { ...parser, javascript: { ...parser?.['javascript'], import: false } },
    },
  }
}

/** The SDK has TypeScript compiled for engines of 2017, where each spread of an object is a loop of its own. */
function asWritten(rule: Rule): Rule {
  if (typeof rule !== 'object' || rule === null || typeof rule.use !== 'object' || !('options' in rule.use)) return rule
  const { options } = rule.use
  if (typeof options !== 'object' || !('jsc' in options)) return rule
  const jsc = { ...(options['jsc'] as object), target: 'es2022' }
  return { ...rule, use: { ...rule.use, options: { ...options, jsc } } }
}

// What a bundle uses is new again. The rest is of no more use: 3 MB for each bundle.
const UNUSED_MS = 60_000

/**
 * Of packages, too, the files count and not the version: Pawl itself is installed anew under the same one. How a bundle is made is said by
 * its maker, so what these have made before is not taken when they are others.
 */
function cachedIn(cacheDirectory: string, { failureConverterPath = '' }: Sealing): Partial<Configuration> {
  return {
    cache: {
      type: 'filesystem',
      cacheDirectory,
      version: `${maker()} ${failureConverterPath}`,
      maxAge: UNUSED_MS,
    },
    snapshot: { managedPaths: [], immutablePaths: [] },
  }
}

function entry(files: readonly string[], names: readonly string[], { workflows, loop }: BundleSource): string {
  const from = (path: string) => JSON.stringify(path)
  return [
    `export * from ${from(workflows)}`,
    `import { runLevel } from ${from(loop)}`,
    ...files.map((file, index) => `import { controllers as of${index} } from ${from(file)}`),
    `const controllers = [${files.map((_, index) => `...of${index}`).join(', ')}]`,
    'const named = (name) => controllers.find((controller) => controller.name === name)',
    // Under an alias, because a name may be a word of the language.
    ...names.map((name, index) => `const run${index} = async (input) => await runLevel(named('${name}'), input)`),
    ...names.map((name, index) => `export { run${index} as ${name} }`),
  ].join('\n')
}

// The workflows of a worker, and by which name their code is known: two workers of one build do the same in every pass.

export interface Build {
  /** A hash of the code. */
  readonly name: string
  readonly code: string
}

export interface BuildSource {
  /** A bundle that was made before. */
  readonly workflowBundle: string | undefined
  /** Modules of controllers. */
  readonly controllerFiles: readonly string[]
  /** Undefined: payloads are not sealed. */
  readonly payloadKeyPath: string | undefined
  /** Where bundles are kept; undefined: one is made each time. */
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
  const sealing = payloadKeyPath === undefined ? {} : { failureConverterPath: SEALED_FAILURES }
  if (workflowBundle !== undefined) return await readFile(workflowBundle, 'utf8')
  if (files.length > 0) return (await bundleControllers(files, names, logger, { sealing, cacheDir })).code
  return (await bundleWorkflows(logger, { sealing, cacheDir })).code
}

const SOURCE_MAP = '\n//# sourceMappingURL=data:'
const FOLDERS = new RegExp(`${BUNDLE_FOLDER}\\w+`, 'g')

/** The same for the same code, wherever and whenever it was bundled on machines of one image. */
export function buildName(code: string): string {
  const map = code.lastIndexOf(SOURCE_MAP)
  const own = (map < 0 ? code : code.slice(0, map)).replace(FOLDERS, '')
  return createHash('sha256').update(own).digest('hex').slice(0, 12)
}
