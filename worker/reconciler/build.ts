// The workflows of a worker, and by which name their code is known: two workers of one build do the same in every pass.

import type { Logger } from '@temporalio/worker'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'

import { bundleControllers, BUNDLE_FOLDER, bundleWorkflows } from './bundle.ts'
import { SEALED_FAILURES } from './payload-codec.ts'

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
