package main

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// visit notes the gates of one file.
func (r *room) visit(file string, tree *ast.File) {
	for _, d := range tree.Decls {
		in := "(file)"
		if f, ok := d.(*ast.FuncDecl); ok {
			in = f.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				r.condition(file, in, n)
			case *ast.CallExpr:
				return r.call(in, n)
			case *ast.CompositeLit:
				r.literal(in, n)
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "KillSetID" || key.Name == "FromCache") {
					r.replace(in, n.Value, source(r, n), "false && "+source(r, n.Value))
				}
			case *ast.AssignStmt:
				r.assignment(in, n)
			case *ast.ExprStmt:
				return r.telling(file, in, n)
			case *ast.BinaryExpr:
				r.operand(in, n)
			}
			return true
		})
	}
}

// condition notes an if that holds somebody back, as true or false as it needs
// to be to let him go on.
func (r *room) condition(file, in string, n *ast.IfStmt) {
	cond := source(r, n.Cond)
	switch {
	case isDoor(file) && (strings.Contains(cond, "== snap.generation") || strings.Contains(cond, ".Ops.Has(op)") && !strings.Contains(cond, "&&")):
		r.replace(in, n.Cond, "if "+cond, "true || ("+cond+")")
	case passesOn(n):
		// the question before it is taken away instead
	case r.refuses(n.Body), isDoor(file) && !r.grants(n.Body), slices.Contains(places, in) && !r.grants(n.Body),
		identity(cond, "!=") && !r.continues(n.Body):
		r.replace(in, n.Cond, "if "+cond, "false && ("+cond+")")
	case r.grants(n.Body) && strings.Contains(cond, "Generation()"), strings.Contains(cond, "h.node == n"):
		r.replace(in, n.Cond, "if "+cond, "true || ("+cond+")")
	}
}

// passesOn reports whether an if only returns an error that it was given.
func passesOn(n *ast.IfStmt) bool {
	cond, ok := n.Cond.(*ast.BinaryExpr)
	if !ok || cond.Op != token.NEQ {
		return false
	}
	name := nameOf(cond.X)
	ret, ok := n.Body.List[len(n.Body.List)-1].(*ast.ReturnStmt)
	return ok && (name == "err" || name == "errno") && len(ret.Results) > 0
}

// refuses reports whether a block does nothing but return a refusal.
func (r *room) refuses(b *ast.BlockStmt) bool {
	if len(b.List) != 1 {
		return false
	}
	ret, ok := b.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) == 0 {
		return false
	}
	last := ret.Results[len(ret.Results)-1]
	if call, ok := last.(*ast.CallExpr); ok {
		return nameOf(call.Fun) == "refuse"
	}
	return slices.Contains([]string{"notOwner", "noDirectoryLink"}, source(r, last))
}

// grants reports whether a block ends in a plain yes.
func (r *room) grants(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	ret, ok := b.List[len(b.List)-1].(*ast.ReturnStmt)
	if !ok || len(ret.Results) == 0 {
		return false
	}
	last := source(r, ret.Results[len(ret.Results)-1])
	return last == "0" || last == "true"
}

// continues reports whether a block only skips something.
func (r *room) continues(b *ast.BlockStmt) bool {
	if len(b.List) != 1 {
		return false
	}
	br, ok := b.List[0].(*ast.BranchStmt)
	return ok && br.Tok == token.CONTINUE
}

// identity reports whether a condition compares what an object is.
func identity(cond, op string) bool {
	return strings.Contains(cond, op) && (strings.Contains(cond, ".ID() "+op) || strings.Contains(cond, ".id "+op))
}

// call notes a question, and reports whether to look at its arguments.
func (r *room) call(in string, n *ast.CallExpr) bool {
	name := nameOf(n.Fun)
	if name == "" {
		return true
	}
	if results, ok := r.errnos[name]; ok {
		switch {
		case name == "refuse":
			// what leads to it is taken away instead
		case results == 1:
			r.ask(in, n, "allowErrno")
		default:
			r.replace(in, n, source(r, n), "allowLast("+source(r, n)+")")
		}
		return true
	}
	if yes, ok := allows[name]; ok && r.dir == "fs" {
		r.ask(in, n, map[bool]string{true: "allowTrue", false: "allowFalse"}[yes])
	} else if with, ok := checks[name]; ok {
		r.ask(in, n, with)
	} else if with, ok := verdicts[name]; ok {
		r.ask(in, n, with)
	} else if name == "same" && len(n.Args) == 2 {
		r.replace(in, n, source(r, n), "allowSame("+source(r, n.Args[0])+", "+source(r, n.Args[1])+")")
	}
	return true
}

// ask notes a call in whose place another function answers.
func (r *room) ask(in string, n *ast.CallExpr, with string) {
	args := make([]string, 0, len(n.Args)+1)
	switch f := n.Fun.(type) {
	case *ast.SelectorExpr:
		args = append(args, source(r, f.X))
	case *ast.Ident:
		args = append(args, f.Name) // it may be a variable that nothing else uses
	}
	for _, a := range n.Args {
		args = append(args, source(r, a))
	}
	r.replace(in, n, source(r, n), with+"("+strings.Join(args, ", ")+")")
}

// literal notes the operations that a request asks for, the requests that the
// transport refuses, and the options of the mount.
func (r *room) literal(in string, n *ast.CompositeLit) {
	kind := ""
	if n.Type != nil {
		kind = source(r, n.Type)
	}
	switch {
	case strings.HasSuffix(kind, "]policy.Op"):
		for _, e := range n.Elts {
			r.drop(in, e, source(r, e)+" in "+source(r, n))
		}
	case strings.HasSuffix(kind, "]fuse.MountOption"):
		for _, e := range n.Elts {
			if c, ok := e.(*ast.CallExpr); ok && slices.Contains(guards, nameOf(c.Fun)) {
				r.drop(in, e, source(r, e))
			}
		}
	case kind == "refusal":
		r.answered(in, n)
	case strings.HasSuffix(kind, "]refusal"):
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if lit, ok := kv.Value.(*ast.CompositeLit); ok && lit.Type == nil {
					r.answered(in, lit)
				}
			}
		}
	}
}

// answered notes a refusal of the transport: without it, the request succeeds.
func (r *room) answered(in string, lit *ast.CompositeLit) {
	if len(lit.Elts) == 2 {
		r.replace(in, lit.Elts[1], "refusal "+source(r, lit), "0*"+source(r, lit.Elts[1]))
	}
}

// assignment notes an operation that is added to a list, and bits that are
// taken from a mode.
func (r *room) assignment(in string, n *ast.AssignStmt) {
	if len(n.Rhs) != 1 {
		return
	}
	if call, ok := n.Rhs[0].(*ast.CallExpr); ok && nameOf(call.Fun) == "append" && len(call.Args) == 2 {
		if added := source(r, call.Args[1]); strings.HasPrefix(added, "policy.") {
			r.replace(in, call, source(r, n), source(r, call.Args[0]))
		}
	}
	bits := source(r, n.Rhs[0])
	if n.Tok == token.AND_ASSIGN && bits == "noSetuid" || n.Tok == token.AND_NOT_ASSIGN && strings.Contains(bits, "S_ISGID") {
		r.replace(in, n, source(r, n), "_ = "+bits)
	}
}

// operand notes the set-id bits that an expression takes from a mode.
func (r *room) operand(in string, n *ast.BinaryExpr) {
	if n.Op != token.AND {
		return
	}
	for _, side := range []ast.Expr{n.X, n.Y} {
		if source(r, side) == "noSetuid" {
			r.replace(in, side, source(r, n), "(noSetuid | 07777)")
		}
	}
}

// telling notes what a reload tells the kernel, and reports whether to look
// further: a question whose answer nobody takes fills a cache.
func (r *room) telling(file, in string, n *ast.ExprStmt) bool {
	call, ok := n.X.(*ast.CallExpr)
	if !ok {
		return true
	}
	name := nameOf(call.Fun)
	telling := strings.HasPrefix(file, "fs/reload") || strings.HasPrefix(file, "fs/narrow") || name == "narrowed"
	if telling && slices.Contains(told, name) {
		r.ask(in, call, "allowNothing")
	}
	_, question := allows[name]
	return !question
}

// nameOf returns the last word of what is called.
func nameOf(fun ast.Expr) string {
	switch f := fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
