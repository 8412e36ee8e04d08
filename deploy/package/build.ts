// Makes the npm package: `node deploy/package/build.ts [FOLDER]` (default dist) writes FOLDER/pawl-VERSION.tgz.
//
// Node runs the TypeScript of the checkout, but strips no types in node_modules. So the package has the same tree with each module compiled to JavaScript,
// declarations of the kit, and the workflows as bundles. Types are checked by `npm run types`, not here.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import { DefaultLogger } from '@temporalio/worker'
import ts from 'typescript'

import type * as bundler from '../../worker/reconciler/temporal/bundle.ts'
import type * as shipped from '../../worker/reconciler/temporal/shipped-bundle.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const COMPILED = ['workflows', 'activities', 'worker', 'migrations']
// Files that Pawl reads at run time, and documentation.
const COPIED = [
  ...['README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md', 'docs', 'examples', 'worker/pawl.js', 'worker/pawl-injector.js'],
  ...['deploy/binaries', 'deploy/chart', 'deploy/crds', 'deploy/rbac', 'deploy/setup', 'deploy/templates/engine.wasm.br', 'deploy/templates/engine.sha256'],
  ...['deploy/api.yaml', 'deploy/webhook.yaml', 'deploy/templates/LICENSES.txt'],
]
// Only the checkout has the pictures of the docs.
const PICTURE = /\.png$/
// `npm run demo` and the generators of the pages of the kit and of licences are for checkouts.
const LEFT_OUT = /^worker\/(?:demo\/|gen\/(?:kit-pages|licence-page)\.ts$)/
const KIT = ['workflows/kit/index.ts', 'workflows/kit/testing/index.ts', ...modulesBelow('workflows/kit/kind/kubernetes')]

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  rewriteRelativeImportExtensions: true,
  verbatimModuleSyntax: true,
}

const out = resolve(process.argv[2] ?? join(ROOT, 'dist'))
const stage = mkdtempSync(join(tmpdir(), 'pawl-package-'))
try {
  for (const path of COMPILED.flatMap(modulesBelow)) if (!LEFT_OUT.test(path)) compile(path)
  declareKit()
  const filter = (path: string) => !PICTURE.test(path)
  for (const path of COPIED) cpSync(join(ROOT, path), join(stage, path), { recursive: true, filter })
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`)
  await bundleWorkflows()
  mkdirSync(out, { recursive: true })
  const name = execFileSync('npm', ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', out], { cwd: stage, encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.stdout.write(`${relative(process.cwd(), join(out, name.trim()))}\n`)
} finally {
  rmSync(stage, { recursive: true })
}

function modulesBelow(folder: string): readonly string[] {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.ts')).map((name) => `${folder}/${name}`)
}

function compile(path: string): void {
  const text = readFileSync(join(ROOT, path), 'utf8')
  // transpileModule does not read package.json, so it does not know that the files are modules.
  const compilerOptions = { ...OPTIONS, module: ts.ModuleKind.ESNext }
  const { outputText } = ts.transpileModule(text, { compilerOptions, fileName: path })
  const target = join(stage, path.replace(/\.ts$/, '.js'))
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, outputText)
}

// Strict like the checkout. Otherwise the declaration of an optional field would allow undefined, which JSON lacks.
function declareKit(): void {
  const files = KIT.map((path) => join(ROOT, path))
  const options = { ...OPTIONS, declaration: true, emitDeclarationOnly: true, rootDir: ROOT, outDir: stage, noCheck: true }
  const { diagnostics } = ts.createProgram(files, { ...options, strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true }).emit()
  const [first] = diagnostics
  if (first !== undefined) throw new Error(ts.flattenDiagnosticMessageText(first.messageText, ' '))
}

/** Bundles the compiled workflows, so that workers of the package start without the bundler. */
async function bundleWorkflows(): Promise<void> {
  const modules = join(stage, 'node_modules')
  symlinkSync(join(ROOT, 'node_modules'), modules)
  const load = async (name: string) => (await import(pathToFileURL(join(stage, `worker/reconciler/temporal/${name}.js`)).href)) as object
  const { buildShippedBundle } = (await load('bundle')) as typeof bundler
  const { shippedBundlePath } = (await load('shipped-bundle')) as typeof shipped
  for (const isEncrypted of [false, true])
    writeFileSync(shippedBundlePath(isEncrypted), await buildShippedBundle(isEncrypted, new DefaultLogger('ERROR')))
  rmSync(modules)
}

/** The package.json of the checkout, without scripts and development dependencies. Its exports name the compiled files. */
function manifest(): object {
  const { exports, private: _private, scripts, devDependencies, allowScripts, overrides, ...published } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  ) as Record<string, unknown> & { exports: Record<string, string> }
  void [_private, scripts, devDependencies, allowScripts, overrides]
  const compiled = Object.entries(exports).map(([name, path]) => [name, compiledExport(path)])
  return { ...published, exports: Object.fromEntries(compiled) as object }
}

function compiledExport(path: string): string | { readonly types: string; readonly default: string } {
  if (!path.endsWith('.ts')) return path
  return { types: path.replace(/\.ts$/, '.d.ts'), default: path.replace(/\.ts$/, '.js') }
}
