// Compare values with the TypeScript types that the clients declare: no field is missing, unknown or of another type.
const path = require('path');
const ts = require('typescript');

const ROOT = `
import OpenAI, { AzureOpenAI } from 'openai';
import Anthropic from '@anthropic-ai/sdk';
export declare const openai: OpenAI;
export declare const azure: AzureOpenAI;
export declare const anthropic: Anthropic;
export declare const openaiError: OpenAI.ErrorObject;
export declare const anthropicError: Anthropic.ErrorResponse;
`;

class Types {
  constructor() {
    const folder = path.resolve(path.dirname(require.resolve('typescript')), '..', '..', '..');
    const file = path.join(folder, 'strict-root.ts');
    const options = {
      strict: true, skipLibCheck: true, noEmit: true, types: [], target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext,
      lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
    };
    const host = ts.createCompilerHost(options);
    const [read, has] = [host.getSourceFile.bind(host), host.fileExists.bind(host)];
    host.fileExists = (name) => name === file || has(name);
    host.getSourceFile = (name, ...rest) =>
      name === file ? ts.createSourceFile(name, ROOT, ts.ScriptTarget.ES2022) : read(name, ...rest);
    const program = ts.createProgram([file], options, host);
    this.checker = program.getTypeChecker();
    const source = program.getSourceFile(file);
    this.roots = new Map(
      this.checker.getExportsOfModule(this.checker.getSymbolAtLocation(source)).map((one) => [one.name, one]),
    );
    this.remembered = new Map();
  }

  root(name) {
    return this.checker.getTypeOfSymbol(this.roots.get(name));
  }

  // Types that the overloads of a method return: of one event where it streams, of one item where it lists.
  returned(root, method, streamed) {
    const key = `${root} ${method} ${streamed}`;
    if (!this.remembered.has(key)) this.remembered.set(key, [...this.findReturned(root, method, streamed)]);
    return this.remembered.get(key);
  }

  *findReturned(root, method, streamed) {
    let type = this.root(root);
    for (const part of method.split('.')) type = this.checker.getTypeOfSymbol(type.getProperty(part));
    for (const signature of type.getCallSignatures()) {
      const [returned] = this.checker.getTypeArguments(signature.getReturnType());
      for (const one of returned.isUnion() ? returned.types : [returned]) {
        const event = this.eventOf(one);
        if (streamed && event) yield event;
        if (!streamed && !event) yield this.itemOf(one) ?? one;
      }
    }
  }

  eventOf(type) {
    return /^(Stream|JSONLDecoder)$/.test(type.symbol?.name ?? '') ? this.checker.getTypeArguments(type)[0] : null;
  }

  itemOf(type) {
    const items = type.getProperty('getPaginatedItems');
    if (!items) return null;
    const [signature] = this.checker.getTypeOfSymbol(items).getCallSignatures();
    return this.checker.getTypeArguments(signature.getReturnType())[0];
  }

  // Where a value deviates from the nearest of some types.
  nearest(value, types, place = '') {
    const found = types.map((type) => [...this.walk(value, type, place)]);
    return found.sort((one, other) => one.length - other.length)[0] ?? [{ place, kind: 'no type' }];
  }

  *walk(value, type, place) {
    const { TypeFlags: flags } = ts;
    if (type.flags & (flags.Any | flags.Unknown | flags.Void)) return;
    if (type.isUnion()) {
      const told = type.types.filter((one) => this.hasTag(value, one));
      yield* this.nearest(value, told.length ? told : type.types, place);
    } else if (value === null || value === undefined) {
      if (!(type.flags & (flags.Null | flags.Undefined | flags.Void))) yield { place, kind: 'null' };
    } else if (Array.isArray(value)) {
      if (!this.checker.isArrayType(type)) yield { place, kind: 'misfit' };
      else for (const one of value) yield* this.walk(one, this.checker.getTypeArguments(type)[0], `${place}[]`);
    } else if (typeof value === 'object') {
      yield* this.walkFields(value, type, place);
    } else if (!this.fits(value, type)) {
      yield { place, kind: 'misfit' };
    }
  }

  *walkFields(value, type, place) {
    if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) || this.checker.isArrayType(type)) {
      yield { place, kind: 'misfit' };
      return;
    }
    const known = new Map(this.checker.getPropertiesOfType(type).map((one) => [one.name, one]));
    for (const [name, symbol] of known) {
      const optional = symbol.flags & ts.SymbolFlags.Optional;
      if (!(name in value) && !optional && !name.startsWith('__@')) yield { place: `${place}.${name}`, kind: 'missing' };
    }
    const index = type.getStringIndexType();
    for (const [name, inner] of Object.entries(value)) {
      const symbol = known.get(name);
      if (symbol) yield* this.walkField(inner, symbol, `${place}.${name}`);
      else if (index) yield* this.walk(inner, index, `${place}.${name}`);
      else if (type.symbol?.name !== 'Object') yield { place: `${place}.${name}`, kind: 'unknown' };
    }
  }

  // A field that is optional may be absent; null is another matter.
  *walkField(value, symbol, place) {
    const type = this.checker.getTypeOfSymbol(symbol);
    const nullable = type.flags & ts.TypeFlags.Any || (type.isUnion() && type.types.some((one) => one.flags & ts.TypeFlags.Null));
    if (value === null && !nullable) {
      if (!(type.flags & (ts.TypeFlags.Null | ts.TypeFlags.Unknown))) yield { place, kind: 'null' };
      return;
    }
    yield* this.walk(value, type, place);
  }

  // Whether the fields that tell the kinds of a union apart have the value's.
  hasTag(value, type) {
    const empty = ts.TypeFlags.Null | ts.TypeFlags.Undefined;
    if (value === null) return Boolean(type.flags & empty);
    if (typeof value !== 'object') return !(type.flags & (empty | ts.TypeFlags.Object));
    if (!(type.flags & ts.TypeFlags.Object) || this.checker.isArrayType(type) !== Array.isArray(value)) return false;
    if (Array.isArray(value)) return true;
    return ['type', 'role', 'object', 'event'].every((tag) => {
      const symbol = type.getProperty(tag);
      if (!symbol || !(tag in value)) return !(symbol && !(symbol.flags & ts.SymbolFlags.Optional));
      return this.fits(value[tag], this.checker.getTypeOfSymbol(symbol));
    });
  }

  fits(value, type) {
    const { TypeFlags: flags } = ts;
    if (type.isUnion()) return type.types.some((one) => this.fits(value, one));
    if (type.isIntersection()) return type.types.some((one) => this.fits(value, one));
    if (type.flags & (flags.Any | flags.Unknown)) return true;
    if (type.isStringLiteral() || type.isNumberLiteral()) return type.value === value;
    if (type.flags & flags.BooleanLiteral) return String(value) === type.intrinsicName;
    if (type.flags & flags.String) return typeof value === 'string';
    if (type.flags & flags.Number) return typeof value === 'number';
    return Boolean(type.flags & flags.Boolean) && typeof value === 'boolean';
  }
}

module.exports = { Types };
