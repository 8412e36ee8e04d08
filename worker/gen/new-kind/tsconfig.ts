// The `tsconfig.json` of a project with modules of controllers: they are loaded by stripping their types, so it forbids what cannot be stripped.

/** As docs/tutorial-cronjob.md has it. */
export const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2023",
    "module": "nodenext",
    "strict": true,
    "exactOptionalPropertyTypes": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "verbatimModuleSyntax": true,
    "erasableSyntaxOnly": true,
    "skipLibCheck": true
  }
}
`
