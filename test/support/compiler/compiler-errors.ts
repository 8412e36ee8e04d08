// Compiles texts in memory with TypeScript's compiler and the project's flags. Files on disk are parsed once per
// process, because they take most of the time.

import { join, relative } from 'node:path'

import ts from 'typescript'

const ROOT = join(import.meta.dirname, '../../..')
const parsed = new Map<string, ts.SourceFile | undefined>()

/** The compiler's errors in these texts, by path from the root of the checkout. The texts hide files of the same paths. */
export function compilerErrors(files: ReadonlyMap<string, string>): readonly string[] {
  const texts = new Map([...files].map(([path, text]) => [join(ROOT, path), text]))
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    config: object
  }
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, ROOT)
  const host = ts.createCompilerHost(options)
  const fromDisk = host.getSourceFile.bind(host)
  host.getSourceFile = (path, language) => {
    const text = texts.get(path)
    if (text !== undefined) return ts.createSourceFile(path, text, language)
    if (!parsed.has(path)) parsed.set(path, fromDisk(path, language))
    return parsed.get(path)
  }
  host.readFile = (path) => texts.get(path) ?? ts.sys.readFile(path)
  host.fileExists = (path) => texts.has(path) || ts.sys.fileExists(path)
  host.directoryExists = (path) =>
    ts.sys.directoryExists(path) || [...texts.keys()].some((file) => file.startsWith(`${path}/`))
  const program = ts.createProgram([...texts.keys()], options, host)
  const diagnostics = [...texts.keys()].flatMap((path) => {
    const file = program.getSourceFile(path)
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
  })
  return [...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics(), ...diagnostics].map(
    ({ file, messageText }) => {
      return `${relative(ROOT, file?.fileName ?? ROOT)}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
    },
  )
}
