// Compiles modules in memory with this repository's compiler options. Their imports resolve to files on disk.

import { join } from 'node:path'
import ts from 'typescript'

const ROOT = join(import.meta.dirname, '../../../..')
/** The folder of the modules in memory: `../workflows/...` resolves to the repository's folder. */
const FOLDER = join(ROOT, 'in-memory')

/** The compiler errors for these modules, prefixed with the file name. */
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
