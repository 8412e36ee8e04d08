// Compiles modules that are only in memory, under the flags of this repository, beside the files that they import.

import { join } from 'node:path'
import ts from 'typescript'

const ROOT = join(import.meta.dirname, '../../../..')
/** Where modules in memory lie, so that `../workflows/...` is what it says. */
const FOLDER = join(ROOT, 'in-memory')

/** The errors of the compiler for these modules, by name. */
export function complaints(modules: Readonly<Record<string, string>>): string[] {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    config: { compilerOptions: object }
  }
  const { options } = ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, types: [] }, ROOT)
  const texts = new Map(Object.entries(modules).map(([name, text]) => [join(FOLDER, name), text]))
  const host = ts.createCompilerHost(options)
  const fromDisk = host.getSourceFile.bind(host)
  host.fileExists = (path) => texts.has(path) || ts.sys.fileExists(path)
  host.directoryExists = (path) => path === FOLDER || ts.sys.directoryExists(path)
  host.readFile = (path) => texts.get(path) ?? ts.sys.readFile(path)
  host.getSourceFile = (path, language) => {
    const text = texts.get(path)
    return text === undefined ? fromDisk(path, language) : ts.createSourceFile(path, text, language)
  }
  const program = ts.createProgram([...texts.keys()], options, host)
  return ts.getPreEmitDiagnostics(program).map((diagnostic) => {
    const name = diagnostic.file?.fileName.split('/').at(-1) ?? ''
    return `${name}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, ' ')}`
  })
}
