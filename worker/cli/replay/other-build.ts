// Loads the build that `--against` names: a folder of another Pawl, or a workflow bundle. Lists changed activities,
// because a replay does not run them.

import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { extname, join, relative, resolve } from 'node:path'

import { DefaultLogger } from '@temporalio/worker'

import { buildName, bundleControllers, bundleEntry, type BundleSource } from '../../reconciler/temporal/bundle.ts'
import { modulePath } from '../../server/config.ts'
import { controllerFiles, loadControllers } from '../../server/load-controllers.ts'
import { UsageError } from '../../server/usage-error.ts'
import { bundleCacheFolder } from './load.ts'
import { joinNames } from '../../../workflows/kit/index.ts'

interface OtherBuild {
  readonly code: string
  /** The build's name as workers report it. */
  readonly name: string
  /** Sentences about parts that are not compared. */
  readonly notes: readonly string[]
}

interface OtherFlags {
  /** Controller modules of this build. */
  readonly controllers: string | undefined
  /** Controller modules of the other build, if they differ. */
  readonly againstControllers: string | undefined
}

const RECORDING = 'workflows/kit/run/loop/recording'
const LOGGER = new DefaultLogger('ERROR')
const INPUTS_ONLY = 'only decisions of plans and inputs of calls are compared; no history has the work of activities'

/** @throws UsageError if the path is neither. */
export async function otherBuild(path: string, flags: OtherFlags): Promise<OtherBuild> {
  const root = resolve(path)
  if (!existsSync(root))
    throw new UsageError(`--against: "${path}" does not exist; expected a folder of Pawl or a workflow bundle`)
  return statSync(root).isDirectory() ? await folderAt(root, path, flags) : await bundleAt(root, path, flags)
}

async function folderAt(root: string, path: string, flags: OtherFlags): Promise<OtherBuild> {
  const { controllers, againstControllers = controllers } = flags
  const [workflows, loop] = [moduleIn(root, 'workflows/index'), moduleIn(root, 'workflows/kit/run/loop/index')]
  if (workflows === undefined || loop === undefined)
    throw new UsageError(
      `--against: folder "${path}" has no workflows/index.ts or .js; expected a folder of Pawl or a workflow bundle`,
    )
  const recording = moduleIn(root, RECORDING)
  // Our recording module knows no plans of that build, but all calls.
  const source: BundleSource = { workflows, loop, recording: recording ?? modulePath(`../${RECORDING}.ts`) }
  const files = controllerFiles(againstControllers)
  const names = (await loadControllers(files)).map(({ name }) => name)
  const cacheDir = bundleCacheFolder()
  const { code } =
    files.length > 0
      ? await bundleControllers(files, names, LOGGER, { source, cacheDir })
      : await bundleEntry(workflows, LOGGER, { source, cacheDir })
  const silent = 'that build is older than pawl replay: its calls are compared, its decisions are not'
  const notes = [...(recording === undefined ? [silent] : []), ...sdkNotes(root), ...(await activityNotes(root))]
  return { code, name: buildName(code), notes: [INPUTS_ONLY, ...notes] }
}

/** The other build's workflows run on its own SDK, in a worker of this build's SDK. */
function sdkNotes(root: string): readonly string[] {
  const own = versionOf(createRequire(import.meta.url).resolve('@temporalio/workflow/package.json'))
  const theirs = versionOf(join(root, 'node_modules/@temporalio/workflow/package.json'))
  return theirs === undefined || theirs === own
    ? []
    : [
        `the other build has Temporal SDK ${theirs}, this build ${own ?? 'an unknown version'}; run pawl replay of the other build too`,
      ]
}

function versionOf(file: string): string | undefined {
  if (!existsSync(file)) return undefined
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version?: string }).version
}

async function bundleAt(root: string, path: string, { againstControllers }: OtherFlags): Promise<OtherBuild> {
  if (againstControllers !== undefined)
    throw new UsageError(
      '--against-controllers: a bundle has its own controllers; remove the flag, or give a folder of Pawl',
    )
  const code = await readFile(root, 'utf8')
  if (!code.includes('__TEMPORAL__'))
    throw new UsageError(
      `--against: file "${path}" is no workflow bundle; expected a folder of Pawl or a workflow bundle`,
    )
  const activities = 'a bundle has no activities, so their changes are not listed'
  return { code, name: buildName(code), notes: [INPUTS_ONLY, activities] }
}

function moduleIn(root: string, module: string): string | undefined {
  return ['.ts', '.js'].map((ending) => join(root, `${module}${ending}`)).find((file) => existsSync(file))
}

const MOST_NAMED = 10

async function activityNotes(root: string): Promise<readonly string[]> {
  const [own, theirs] = [await hashesIn(resolve(modulePath('..'))), await hashesIn(root)]
  if (theirs.size === 0) return ['the other build has no folder activities, so changes of activities are not listed']
  const changed = [...new Set([...own.keys(), ...theirs.keys()])]
    .filter((file) => own.get(file) !== theirs.get(file))
    .sort()
  if (changed.length === 0) return []
  const files = joinNames(changed, MOST_NAMED)
  return [`these activities differ in the other build, and their writes are not compared: ${files}`]
}

/** Hashes of the modules in `activities/`, by path without extension. */
async function hashesIn(root: string): Promise<ReadonlyMap<string, string>> {
  const folder = join(root, 'activities')
  const entries = existsSync(folder) ? await readdir(folder, { recursive: true, withFileTypes: true }) : []
  const files = entries.filter(
    (entry) => entry.isFile() && /\.[jt]s$/.test(entry.name) && !entry.name.endsWith('.d.ts'),
  )
  const hashes = files.map(async (entry) => {
    const path = join(entry.parentPath, entry.name)
    const hash = createHash('sha256')
      .update(await readFile(path))
      .digest('hex')
    return [relative(root, path).slice(0, -extname(path).length), hash] as const
  })
  return new Map(await Promise.all(hashes))
}
