// `pawl gen`: writes what derives from the kinds, the wings and the deployers: deploy/crds, deploy/rbac, the roles, the wings and the monitoring of deploy/chart, workflows/index.ts, the registries, the pages
// of flags and kinds in docs/reference, and the module of each controller.cm. `--check` changes nothing and exits 1 with a summary and the differences when something is stale.

import { join, relative, sep } from 'node:path'

import { admissionIndex, readAdmissions } from './gen/admission-index.ts'
import { chartMonitoring } from './gen/chart-monitoring.ts'
import { chartRoles } from './gen/chart-roles.ts'
import { chartSchema } from './gen/chart-schema.ts'
import { compileFile, readText } from './gen/controller/controller-files.ts'
import { staleText } from './gen/controller-modules.ts'
import { controllerIndex, workflowIndex } from './gen/controller-index.ts'
import { crdFileName, crdYaml } from './gen/crd.ts'
import { deployerLists } from './gen/deployers.ts'
import { foldersWith } from './server/kind-folders.ts'
import { KIND_PAGES, kindPages } from './gen/kind-pages.ts'
import { compareFiles, type GeneratedFiles, writeFiles } from './gen/output.ts'
import { roleFiles, webhookRoles } from './gen/rbac.ts'
import { DEFAULT_SECRET } from './server/webhook-secret.ts'
import { programFiles, wingFiles } from './gen/wing-index.ts'
import { partsByWing, readParts } from './gen/wing-rbac.ts'

const DOCUMENT = 'controller.cm'
const CRDS = 'deploy/crds'
const RBAC = 'deploy/rbac'
const CHART_ROLES = 'deploy/chart/templates/rbac.yaml'

export interface GenOptions {
  /** The checkout to read from and write to. */
  readonly root: string
  readonly check: boolean
  readonly print: (line: string) => void
  /** Receives lines about problems in documents. */
  readonly complain: (line: string) => void
  /** Reads further files to generate, after all others are written: their content derives from the registries. */
  readonly pages?: () => Promise<{ readonly files: GeneratedFiles; readonly owned: readonly string[] }>
}

/** Generates, or checks. Returns the exit code: 0 when all is up to date, 1 when a check found something stale, 2 for a wrong document or deployer. */
export async function gen({ root, check, print, complain, pages }: GenOptions): Promise<0 | 1 | 2> {
  const modules = await controllerModules(root, complain)
  const deployers = await deployerLists(root, complain)
  if (modules === undefined || deployers === undefined) return 2
  const bring = async (files: GeneratedFiles, owned: readonly string[]) => {
    const differences = await compareFiles(root, files, owned)
    for (const { path, state, detail } of differences) {
      print(check ? `${state}: ${path}: ${detail}` : `${verb(state)} ${path}`)
      if (check && state === 'stale') print(staleText(path, await readText(join(root, path)), files.get(path) ?? ''))
    }
    if (!check) await writeFiles(root, files, differences)
    return differences.length
  }
  // First what controllers are made of: the rest is read from their values.
  const first = await bring(modules, [])
  const second = await bring(new Map([...(await generatedFiles(root)), ...deployers]), [CRDS, RBAC, KIND_PAGES])
  const last = await pages?.()
  const count = first + second + (last === undefined ? 0 : await bring(last.files, last.owned))
  if (!check || count === 0) return 0
  print('run `pawl gen` and commit the result')
  return 1
}

async function generatedFiles(root: string): Promise<GeneratedFiles> {
  const parts = await readParts(root)
  const { folders, controllers, wings } = parts
  const admissions = await readAdmissions(root, wings)
  const names = wings.flatMap(({ declared }) => declared?.value.admission ?? [])
  const validating = names.map(({ configuration }) => configuration)
  const mutating = names.flatMap(({ mutation }) => mutation?.configuration ?? [])
  return new Map([
    ...folders.flatMap(({ wing, folder, kinds }) =>
      kinds.map((kind) => [`${CRDS}/${wing}/${crdFileName(kind)}`, crdYaml(kind, folder)] as const),
    ),
    ...roleFiles(RBAC, partsByWing(parts)),
    ...(await chartMonitoring(root)),
    ...(await chartSchema(root, [...partsByWing(parts).keys()])),
    ...(validating.length > 0
      ? [
          [`${RBAC}/webhook.yaml`, webhookRoles({ validating, mutating }, DEFAULT_SECRET)] as const,
          [CHART_ROLES, chartRoles(parts, { validating, mutating })] as const,
        ]
      : []),
    ['workflows/index.ts', workflowIndex(folders)],
    ['workflows/admission.gen.ts', admissionIndex(admissions)],
    ['workflows/controllers.gen.ts', controllerIndex(controllers)],
    ...wingFiles(wings),
    ...(await programFiles(root)),
    ...kindPages(folders.flatMap(({ kinds }) => kinds)),
  ])
}

/** The modules of the controllers of all kinds; undefined when a document is wrong. */
async function controllerModules(root: string, complain: GenOptions['complain']): Promise<GeneratedFiles | undefined> {
  const modules = new Map<string, string>()
  let isWrong = false
  for (const folder of await foldersWith(root, DOCUMENT)) {
    const shownAs = `workflows/${folder}/${DOCUMENT}`
    const { target, code, complaints } = await compileFile(join(root, shownAs), { root, shownAs })
    for (const complaint of complaints) complain(complaint)
    if (code === undefined) isWrong = true
    else modules.set(relative(root, target).split(sep).join('/'), code)
  }
  return isWrong ? undefined : modules
}

function verb(state: 'missing' | 'stale' | 'unwanted'): string {
  return state === 'unwanted' ? 'removed' : 'wrote'
}
